"""Questions with answers to choose from: a prediction in a lab, and a quiz on an article."""
