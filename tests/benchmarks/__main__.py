"""All benchmarks: ``make bench``."""

from tests.benchmarks import remote, replay, warm

if __name__ == "__main__":
    replay.main()
    warm.main()
    remote.main()
