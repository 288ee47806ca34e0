# one page a command, and the formats
