"""QuorumView: a quorum of controllers, vote by vote.

    view            the widget: its time, and what is done to nodes
    scene           the whole picture
    cards           a node as a card: its state, whom it waits for, its log
    lanes           messages and states over time, a lane for each node
    layout          where everything stands, for the width that a page has
    words           messages and states in words
    cluster_quorum  the controllers of a real cluster, as a film

What is drawn is a film (proof/quorum): of a simulated quorum, or of a real one.
"""
