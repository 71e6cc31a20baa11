"""redis-py as it comes, in both versions of the protocol: python redis_py.py PORT TOKEN"""

import asyncio
import sys

import redis
import redis.asyncio

port, token = int(sys.argv[1]), sys.argv[2]

for version in (2, 3):
    key = f"py{version}"
    client = redis.Redis(port=port, password=token, protocol=version, client_name="some-client")
    assert client.ping()
    assert client.execute_command("CL.THROTTLE", key, 15, 30, 60) == [0, 16, 15, -1, 2]
    assert client.execute_command("THROTTLE", key, 16, 30, 60) == [1, 16, 14, 4, 0]
    allowed, limit, remaining, retry, reset = client.execute_command("JETON.TAKE", "api", key, 2)
    assert (allowed, limit, remaining, retry) == (1, 100, 98, -1) and reset > 0
    with client.pipeline(transaction=False) as pipeline:
        for _ in range(200):
            pipeline.execute_command("CL.THROTTLE", f"{key}:row", 99, 1, 3600)
        answers = pipeline.execute()
    assert [answer[0] for answer in answers] == [0] * 100 + [1] * 100
    assert [answer[2] for answer in answers[:100]] == list(range(99, -1, -1))
    # As it is by default, a pipeline is a transaction.
    with client.pipeline() as pipeline:
        for _ in range(3):
            pipeline.execute_command("CL.THROTTLE", f"{key}:multi", 15, 30, 60)
        answers = pipeline.execute()
    assert [answer[2] for answer in answers] == [15, 14, 13]
    with client.pipeline() as pipeline:
        pipeline.execute_command("CL.THROTTLE", f"{key}:multi", 15, 30, 60)
        pipeline.set("a", "b")
        try:
            pipeline.execute()
        except redis.ResponseError as error:
            assert "this server only limits" in str(error), error
        else:
            raise AssertionError("it stores things")
    assert client.execute_command("CL.THROTTLE", f"{key}:multi", 15, 30, 60, 0)[2] == 13
    try:
        client.set("a", "b")
    except redis.ResponseError as error:
        assert "this server only limits" in str(error), error
    else:
        raise AssertionError("it stores things")
    assert client.client_getname() in (b"some-client", "some-client")
    assert client.info()["loading"] == 0
    client.close()

try:
    redis.Redis(port=port, password="guess").ping()
except redis.AuthenticationError:
    pass
else:
    raise AssertionError("anybody may")


async def together():
    client = redis.asyncio.Redis(port=port, password=token)
    take = [client.execute_command("CL.THROTTLE", "async", 9, 1, 3600) for _ in range(50)]
    answers = await asyncio.gather(*take)
    assert sum(answer[0] == 0 for answer in answers) == 10
    await client.aclose()


asyncio.run(together())
print("fine")
