// ioredis as it comes: node ioredis.cjs PORT TOKEN
const assert = require("node:assert");
const { Redis } = require("ioredis");

const [port, password] = [Number(process.argv[2]), process.argv[3]];

async function main() {
  // It waits until INFO says that nothing is being loaded.
  const client = new Redis({ port, password, connectionName: "some-client" });
  assert.equal(await client.ping(), "PONG");
  assert.deepEqual(await client.call("CL.THROTTLE", "js", 15, 30, 60), [0, 16, 15, -1, 2]);
  assert.deepEqual(await client.call("THROTTLE", "js", 16, 30, 60), [1, 16, 14, 4, 0]);
  const [allowed, limit, remaining] = await client.call("JETON.TAKE", "api", "js");
  assert.deepEqual([allowed, limit, remaining], [1, 100, 99]);

  const pipeline = client.pipeline();
  for (let n = 0; n < 200; n++) pipeline.call("CL.THROTTLE", "js:row", 99, 1, 3600);
  const answers = await pipeline.exec();
  assert.equal(answers.filter(([error, answer]) => !error && answer[0] === 0).length, 100);

  const together = await Promise.all(
    Array.from({ length: 50 }, () => client.call("CL.THROTTLE", "js:together", 9, 1, 3600)),
  );
  assert.equal(together.filter((answer) => answer[0] === 0).length, 10);

  const multi = client.multi();
  for (let n = 0; n < 3; n++) multi.call("CL.THROTTLE", "js:multi", 15, 30, 60);
  const kept = await multi.exec();
  assert.deepEqual(kept.map(([error, answer]) => error ?? answer[2]), [15, 14, 13]);

  await assert.rejects(client.set("a", "b"), /this server only limits/);
  assert.equal(await client.client("GETNAME"), "some-client");
  await client.quit();

  const stranger = new Redis({ port, password: "guess", retryStrategy: null });
  stranger.on("error", () => {});
  await assert.rejects(stranger.ping());
  stranger.disconnect();
}

main().then(
  () => console.log("fine"),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
