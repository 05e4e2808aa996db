"""Measurements, each as a ratio to something measured in the same run: machines are shared and noisy."""
