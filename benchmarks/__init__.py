"""Measures Berthmaster, and kube-scheduler beside it in the same run.

``python -m benchmarks --help`` says how; README.md says what is measured and how.
"""
