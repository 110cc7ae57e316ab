"""Questions whose answer is a number: guessed before a cell runs, and judged by the distance.

number_line    the values, their places, and what is near enough
view           the question as a card, with a line to drag on and a field to type into
"""
