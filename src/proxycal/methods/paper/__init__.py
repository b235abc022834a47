"""The paper's method: two variational autoencoders, groups and matching. The only room with torch."""
