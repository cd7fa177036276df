"""Trees as VIPR files, which third-party programs check.

The format: Cheung, Gleixner, Steffy, "Verifying Integer Programming Results", IPCO 2017, version
1.0. A file states an integer program and derives a bound on its objective line by line.
"""
