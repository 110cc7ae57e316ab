"""Labs to hand out: for students without answers and outputs, for teachers with answers.

    labs/*.ipynb ──┐                        ┌──> build/student/   notebooks without outputs
    exercises.py ──┼──> notebook, folder ───┤
    labs/answers ──┘                        └──> build/answers/   a worked answer in each exercise

    returned notebooks ──> marks ──> who has how many points

The notebooks themselves know nothing of all this: which cells make an exercise, and what it is
worth, stands in exercises.py.
"""
