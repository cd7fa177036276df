"""Models in OpenVINO's intermediate representation (IR): an XML file; its weights are not read."""
