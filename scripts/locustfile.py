"""The self-hoster's user as a Locust class: the same load as Plimsoll's behavior poster, from an independent client.

Every 4 to 6 s a user posts a short message (24 of 25 times) or uploads a text file of about 100 bytes and posts that.
TOKEN and CHANNEL come from the environment.
"""

import os
import random
import string

from locust import HttpUser, between, task

ALPHABET = string.ascii_letters + string.digits + " "
CHANNEL = os.environ["CHANNEL"]


def text(n):
    return "".join(random.choice(ALPHABET) for _ in range(n))


class Poster(HttpUser):
    wait_time = between(4, 6)

    def on_start(self):
        self.files = 0
        self.client.headers["Authorization"] = "Bearer " + os.environ["TOKEN"]

    def create(self, **post):
        self.client.post("/api/v4/posts", json={"channel_id": CHANNEL, **post}, name="post")

    @task(24)
    def message(self):
        self.create(message="Test message: " + text(10))

    @task(1)
    def upload(self):
        self.files += 1
        content = f"Test file {self.files}\n{text(100)}"
        r = self.client.post(
            f"/api/v4/files?channel_id={CHANNEL}",
            files={"files": (f"test_{self.files}.txt", content, "text/plain")},
            name="upload",
        )
        if r.status_code == 201:
            self.create(message=f"File upload test {self.files}", file_ids=[r.json()["file_infos"][0]["id"]])
