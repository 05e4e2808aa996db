"""The demonstration: a backbone of processes on this machine, a few peers, and a story that checks itself.

backbone.py    super-peers as processes, that can be killed and started again
stage.py       what is told, and whether it was true
story.py       the story, scene by scene
telling.py     from the first process to the last
"""
