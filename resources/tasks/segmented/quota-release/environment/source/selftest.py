"""Run the program's own tests."""

import quota

assert quota.used("anna") == 512
assert quota.check("anna", 100) == "allowed"
assert quota.check("anna", 5000) == "refused"
assert quota.check("bob", quota.limits.getint("disk", "default") - quota.used("bob") - 1) == "allowed"
print("selftest ok")
