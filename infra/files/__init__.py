"""Readers of files: each turns a file into documents of readable text with a media type, on the publisher's side.

The service itself parses no binary format: a client converts a file and sends the text.
"""
