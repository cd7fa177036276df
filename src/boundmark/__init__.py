"""Benchmarks for running one DNN on many devices, with a certificate for every lower bound.

The layers lie in the folders of the same names at the root of the repository; links beside this
file make them one package in a checkout, and a wheel holds them as they are imported.
"""
