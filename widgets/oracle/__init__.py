"""What will happen? An exam whose questions a simulated run answers.

view     the widget: a question after the other, and the run of each
sheet    one question, laid out: the situation, what happens, the answers, why
score    the score of one idea; sections: where the labs show it
"""
