"""Networks for images and video, as torchvision defines them."""

from collections.abc import Callable
from typing import Any

import torch

from boundmark.datasets.zoo.export.recipe import Recipe, image


def _without_compiled_operators() -> Any:
    """Return torchvision's models, also if its compiled part was built for another torch.

    Nothing here runs the operators of that part, but torchvision wants to know of two of them.
    """
    try:
        from torchvision import models
    except RuntimeError:
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _KEPT.append(library)
        from torchvision import models
    return models


# What a library registers goes with it.
_KEPT: list[Any] = []

MODELS = _without_compiled_operators()

# Name, torchvision's name, edge of the image in pixels, who published it.
_CLASSIFIERS = (
    ("inception-v3", "inception_v3", 299, "Szegedy et al., CVPR 2016"),
    ("resnet-18", "resnet18", 224, "He et al., CVPR 2016"),
    ("resnet-50", "resnet50", 224, "He et al., CVPR 2016"),
    ("resnet-101", "resnet101", 224, "He et al., CVPR 2016"),
    ("resnet-152", "resnet152", 224, "He et al., CVPR 2016"),
    ("resnext-101-32x8d", "resnext101_32x8d", 224, "Xie et al., CVPR 2017"),
    ("wide-resnet-101-2", "wide_resnet101_2", 224, "Zagoruyko and Komodakis, BMVC 2016"),
    ("alexnet", "alexnet", 224, "Krizhevsky, arXiv:1404.5997"),
    ("vgg-16", "vgg16", 224, "Simonyan and Zisserman, ICLR 2015"),
    ("googlenet", "googlenet", 224, "Szegedy et al., CVPR 2015"),
    ("squeezenet-1.1", "squeezenet1_1", 224, "Iandola et al., arXiv:1602.07360"),
    ("densenet-201", "densenet201", 224, "Huang et al., CVPR 2017"),
    ("shufflenet-v2-2.0", "shufflenet_v2_x2_0", 224, "Ma et al., ECCV 2018"),
    ("mnasnet-1.0", "mnasnet1_0", 224, "Tan et al., CVPR 2019"),
    ("mobilenet-v2", "mobilenet_v2", 224, "Sandler et al., CVPR 2018"),
    ("mobilenet-v3-large", "mobilenet_v3_large", 224, "Howard et al., ICCV 2019"),
    ("efficientnet-b0", "efficientnet_b0", 224, "Tan and Le, ICML 2019"),
    ("efficientnet-b7", "efficientnet_b7", 600, "Tan and Le, ICML 2019"),
    ("efficientnet-v2-l", "efficientnet_v2_l", 480, "Tan and Le, ICML 2021"),
    ("regnet-y-16gf", "regnet_y_16gf", 224, "Radosavovic et al., CVPR 2020"),
    ("convnext-tiny", "convnext_tiny", 224, "Liu et al., CVPR 2022"),
    ("convnext-large", "convnext_large", 224, "Liu et al., CVPR 2022"),
    ("vit-b-16", "vit_b_16", 224, "Dosovitskiy et al., ICLR 2021"),
    ("vit-l-16", "vit_l_16", 224, "Dosovitskiy et al., ICLR 2021"),
    ("swin-b", "swin_b", 224, "Liu et al., ICCV 2021"),
    ("maxvit-t", "maxvit_t", 224, "Tu et al., ECCV 2022"),
)

_SEGMENTERS = (
    ("deeplab-v3-resnet-101", "deeplabv3_resnet101", 520, "Chen et al., arXiv:1706.05587"),
    ("fcn-resnet-50", "fcn_resnet50", 520, "Long et al., CVPR 2015"),
)

_VIDEO = (
    ("r2plus1d-18", "r2plus1d_18", (16, 112, 112), "Tran et al., CVPR 2018"),
    ("mvit-v2-s", "mvit_v2_s", (16, 224, 224), "Li et al., CVPR 2022"),
)


def _classifier(name: str, function: str, edge: int, paper: str) -> Recipe:
    def module() -> Any:
        # Auxiliary heads serve training only.
        extra = {"aux_logits": False, "init_weights": False}
        extra = extra if function in ("googlenet", "inception_v3") else {}
        return getattr(MODELS, function)(weights=None, **extra)

    return Recipe(
        name,
        f"{paper}; torchvision.models.{function}",
        {"function": function, **image(1, edge)},
        module,
        _pixels(1, 3, edge, edge),
    )


def _pixels(*shape: int) -> Callable[[], dict[str, torch.Tensor]]:
    return lambda: {"x": torch.empty(shape)}


def _segmenter(name: str, function: str, edge: int, paper: str) -> Recipe:
    return Recipe(
        name,
        f"{paper}; torchvision.models.segmentation.{function}",
        {"function": function, **image(1, edge)},
        lambda: getattr(MODELS.segmentation, function)(weights=None, weights_backbone=None),
        _pixels(1, 3, edge, edge),
        output="out",
    )


def _of_video(name: str, function: str, size: tuple[int, int, int], paper: str) -> Recipe:
    return Recipe(
        name,
        f"{paper}; torchvision.models.video.{function}",
        {"function": function, "batch": 1, "video": [3, *size]},
        lambda: getattr(MODELS.video, function)(weights=None),
        _pixels(1, 3, *size),
    )


RECIPES = (
    *(_classifier(*row) for row in _CLASSIFIERS),
    *(_segmenter(*row) for row in _SEGMENTERS),
    *(_of_video(*row) for row in _VIDEO),
)
