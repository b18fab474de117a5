"""The command `kdsl`: a module for each verb, loaded when it is called."""
