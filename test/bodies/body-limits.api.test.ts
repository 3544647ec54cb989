// own process
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../infra/http/listen.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createSkillPlatform } from '../fixtures/skill-platform.ts';

const MEBIBYTE = 1_048_576;
/**
 * The maximum growth of the buffers in bytes while a body is received: the limit for the body plus 10 %. For the small
 * body of a skill call, 2 MiB are added for the server itself.
 */
const MOST_BYTES = { provider: 25 * MEBIBYTE * 1.1, skill: 1 * MEBIBYTE * 1.1 + 2 * MEBIBYTE };

const { p, expose } = await createSkillPlatform();
const server = await listen(p.app, { host: '127.0.0.1', port: 0 });
const agent = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'limits' } });
const hook = await p.send('POST', `${p.tenant}/webhook-integrations`, {
  body: { provider: 'github', agent_id: (agent.body as { id: string }).id, label: 'Repo' },
});
const { id } = hook.body as { id: string };

/** Collecting the garbage takes about as long as this if the process has a large heap. */
const SAMPLE_INTERVAL_MS = 20;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Frees all buffers that are not in use. The buffers that one collection finds are freed at the latest by the next one. */
const collectGarbage = (): void => {
  collect();
  collect();
};

/**
 * A program that sends a body of `size` bytes in pieces, with these headers. It prints the status of the response or
 * the error code.
 */
const CLIENT = `
const [port, path, size, headers] = process.argv.slice(1);
const { request } = require('node:http');
const piece = Buffer.alloc(65536, 'a');
const sent = request({ port, host: '127.0.0.1', path, method: 'POST', headers: { 'content-type': 'application/json', ...JSON.parse(headers) } }, (answer) => {
  console.log(answer.statusCode);
  process.exit();
});
sent.on('error', (error) => { console.log(error.code); process.exit(); });
let left = Number(size);
const send = () => {
  while (left > 0) {
    const bytes = piece.subarray(0, Math.min(left, piece.length));
    left -= bytes.length;
    if (!sent.write(bytes)) return sent.once('drain', send);
  }
  sent.end();
};
send();`;

/** Returns the bytes of all buffers, including those that are not in use any more. */
const allocated = (): number => process.memoryUsage().arrayBuffers;

/**
 * Sends a body from another process. @returns the status or error code, and by how many bytes the buffers in use grew
 * meanwhile; 0 if this was never more than `limit`
 */
const sendBody = async (path: string, size: number, limit: number, headers: Record<string, string> = {}) => {
  collectGarbage();
  const before = allocated();
  let grown = 0;
  const sample = setInterval(() => {
    if (allocated() - before <= limit) return;
    // Collecting the garbage takes long, so it is done only if it can make a difference.
    collectGarbage();
    if (allocated() - before > limit) grown = Math.max(grown, allocated() - before);
  }, SAMPLE_INTERVAL_MS);
  const { stdout } = await promisify(execFile)(process.execPath, [
    '-e',
    CLIENT,
    String(server.port),
    path,
    String(size),
    JSON.stringify(headers),
  ]);
  clearInterval(sample);
  return { answer: stdout.trim(), grown };
};

const provider = `/hooks/inbound/${id}`;

test('on both webhook routes, a request with a chunked body above the limit gets 413, and needs no more memory than one with an allowed body', async () => {
  const { hook: skill, token } = await expose();
  const skillPath = new URL(skill, 'http://annals.test').pathname;
  const authorization = { authorization: `Bearer ${token}` };
  await sendBody(provider, MEBIBYTE, MOST_BYTES.provider);
  for (const size of [25 * MEBIBYTE + 1, 60 * MEBIBYTE]) {
    const { answer, grown } = await sendBody(provider, size, MOST_BYTES.provider);
    assert.is(answer, '413', `${size} bytes to the route of a provider`);
    assert.is(grown, 0, `${size} bytes to the route of a provider: ${grown} bytes are in use`);
  }
  for (const size of [MEBIBYTE + 1, 30 * MEBIBYTE]) {
    const { answer, grown } = await sendBody(skillPath, size, MOST_BYTES.skill, authorization);
    assert.is(answer, '413', `${size} bytes to the route of a skill`);
    assert.is(grown, 0, `${size} bytes to the route of a skill: ${grown} bytes are in use`);
  }
});

test('a request with a Content-Length above the limit gets 413 before its body is read', async () => {
  const { answer, grown } = await sendBody(provider, 0, MEBIBYTE, { 'content-length': String(25 * MEBIBYTE + 1) });
  assert.is(answer, '413');
  assert.is(grown, 0, `${grown} bytes are in use`);
});

afterLastTest(async () => {
  await server.close();
  await p.close();
});

test.run();
