"""The pages: load, call one service, render. One view answers a page and its parts."""
