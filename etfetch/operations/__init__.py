"""The verbs: each reads like the flow it is, and does no work of its own.

`workspace` opens a project, `locking` answers its request, `installing` makes the tree match,
`reporting` says what is there and why, `editing` changes the project file, `caring` looks after cache
and machine.
"""
