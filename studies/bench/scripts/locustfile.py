from locust import FastHttpUser, constant, task


class User(FastHttpUser):
    wait_time = constant(0)

    @task
    def get(self):
        self.client.get("/")
