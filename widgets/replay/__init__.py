"""What is over, gone through again with no cluster at all.

rehearsal.py   a run of the simulator, as a film
letters.py     its messages, on their way through the picture
past.py        the files of a recording, as they were
"""
