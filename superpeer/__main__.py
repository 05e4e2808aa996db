"""`python -m superpeer` is the command `superpeer`."""

from superpeer.cli import main

if __name__ == "__main__":
    main()
