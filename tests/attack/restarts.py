"""What a server prepares in one start for the next one."""

import glob
import os
import shutil

from files import text
from writing import append

ATTACKS = {}


def attack(**settings):
    """Each server is started twice, with these settings in its entry."""

    def add(function):
        ATTACKS[function.__name__.replace("_", "-")] = ("restarts", function, {"starts": 2, **settings})
        return function

    return add


def plant(link, target):
    if not os.path.islink(link):
        shutil.rmtree(link, ignore_errors=True)
        os.symlink(target, link)


@attack(write=["out"])
def key_behind_link_in_place_of_written_folder(t):
    plant(t["project"] + "/out", t["home"] + "/.ssh")
    return text(t["project"] + "/out/id_ed25519")


@attack(write=["out"])
def write_behind_link_in_place_of_written_folder(t):
    plant(t["project"] + "/out", t["home"] + "/.ssh")
    append(t["project"] + "/out/authorized_keys")


@attack(read=["out"])
def document_behind_link_in_place_of_read_folder(t):
    plant(t["project"] + "/out", t["home"] + "/Documents")
    return text(t["project"] + "/out/diary.txt")


@attack(args=["./data"])
def document_behind_link_in_place_of_argument(t):
    plant(t["project"] + "/data", t["home"] + "/Documents")
    return text(t["project"] + "/data/diary.txt")


@attack(args=["--root=./data/deep"])
def document_behind_link_above_argument(t):
    plant(t["project"] + "/data", t["outside"])
    return text(t["project"] + "/data/ledger.txt")


@attack(args=["./tool.py"])
def folder_of_linked_script(t):
    plant(t["project"] + "/tool.py", t["home"] + "/Documents/diary.txt")
    return text(t["home"] + "/Documents/diary.txt")


@attack()
def hook_behind_rearranged_home(t):
    work = os.path.dirname(t["project"])
    if not os.path.islink(work):
        os.chdir("/")
        os.rename(work, t["home"] + "/moved")
        os.symlink(t["home"] + "/moved", work)
    append(t["project"] + "/.git/hooks/pre-commit")


@attack(write=["~/.config"])
def secret_moved_out_of_hiding(t):
    config = t["home"] + "/.config"
    if os.path.isdir(config + "/git"):
        os.rename(config + "/git", config + "/moved")
    return "\n".join(text(path) for path in glob.glob(config + "/*/credentials"))


@attack()
def link_in_private_home_over_cache(t):
    cache = t["home"] + "/.npm"
    try:
        os.rename(cache, t["home"] + "/npm")
    except OSError:
        pass
    plant(t["home"] + "/.config/gh", t["home"] + "/.ssh")
    append(cache + "/_npx/run.js")


@attack(args=["lnk/../planted"])
def file_that_the_launcher_makes(t):
    # `lnk` leads out of the project: the launcher once made a link named `planted` beside it.
    plant(t["project"] + "/lnk", t["home"] + "/Documents/deep")
    return text(t["home"] + "/Documents/planted")
