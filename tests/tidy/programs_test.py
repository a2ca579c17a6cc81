"""Programs that read images of others are run in one place each, which knows their format and bounds them."""
import unittest

import repository

ONE_PLACE = {'"qemu-img"': "src/disks/qemu_img.cpp"}


class Programs(unittest.TestCase):
    def test_each_is_run_in_its_place_alone(self):
        for word, place in ONE_PLACE.items():
            found = {name for name in repository.names()
                     if name.startswith(("src/", "cmd/")) and name.endswith((".cpp", ".h")) and not name.endswith("_test.cpp") and word in repository.read(name)}
            self.assertEqual(found, {place}, word)


if __name__ == "__main__":
    unittest.main(verbosity=2)
