"""The super-peer as a process: sockets, disk, clock and signals around the state machines of `node` and `hypercup`.

daemon        puts it together: start, serve, leave
core          the node, with the time and the order of its effects
pump          records to disk first, then messages and events, many steps in one commit
backbone      membership, over links to the other super-peers
neighbours    those links: dialled on demand, kept while they are needed
peers         the connections of peers
admin, ...    what an operator sees and may do
config        every option, with its default
network       new networks, and who is admitted to them
"""
