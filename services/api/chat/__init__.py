"""The interface of OpenAI's chat completions over the graphs, for chat front ends."""
