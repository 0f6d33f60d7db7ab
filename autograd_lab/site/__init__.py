"""`autograd-lab site DIR`: the lab as a static web site, for people who install nothing.

build.py writes the site: each part, listed there, adds its pages with one function `add(site, options)`.
start.py makes the first page, reading.py those of the notebooks, search.py the index of all pages.
live.py puts steppers into pages: one front end for the whole site, each stepper as data.
pages.py has what they share: the site as a dict of files, the frame around a page, and the check of all links.
"""
