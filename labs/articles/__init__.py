"""What articles.ipynb, the appendix, takes from beside it.

shared      its cluster and its ledger
questions   predictions; read it after you have made yours
books       lines of an article, typed into a shell
peers       the recorded figures of other brokers, and a prediction
releases    when releases came, and which versions a broker speaks

One of them acts: `books` types what a cell says.
"""
