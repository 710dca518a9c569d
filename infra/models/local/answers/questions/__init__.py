"""Plans of questions: what a question asks for, by rules on its words (`plan.py`)."""
