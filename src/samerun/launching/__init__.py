"""Starts any command under the recorder."""
