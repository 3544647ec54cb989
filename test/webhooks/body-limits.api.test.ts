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

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

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

/**
 * Sends a body from another process. @returns the status or error code, and by how many bytes the buffers in use grew
 * meanwhile
 */
const sendBody = async (path: string, size: number, headers: Record<string, string> = {}) => {
  const used = (): number => {
    collectGarbage();
    return process.memoryUsage().arrayBuffers;
  };
  const before = used();
  let most = before;
  const sample = setInterval(() => {
    most = Math.max(most, used());
  }, 5);
  const { stdout } = await promisify(execFile)(process.execPath, [
    '-e',
    CLIENT,
    String(server.port),
    path,
    String(size),
    JSON.stringify(headers),
  ]);
  clearInterval(sample);
  return { answer: stdout.trim(), grown: most - before };
};

const provider = `/hooks/inbound/${id}`;

test('on both webhook routes, a request with a chunked body above the limit gets 413, and needs no more memory than one with an allowed body', async () => {
  const { hook: skill, token } = await expose();
  const skillPath = new URL(skill, 'http://annals.test').pathname;
  const authorization = { authorization: `Bearer ${token}` };
  await sendBody(provider, MEBIBYTE);
  for (const size of [25 * MEBIBYTE + 1, 60 * MEBIBYTE]) {
    const { answer, grown } = await sendBody(provider, size);
    assert.is(answer, '413', `${size} bytes to the route of a provider`);
    assert.ok(grown <= MOST_BYTES.provider, `${size} bytes to the route of a provider: ${grown} bytes are in use`);
  }
  for (const size of [MEBIBYTE + 1, 30 * MEBIBYTE]) {
    const { answer, grown } = await sendBody(skillPath, size, authorization);
    assert.is(answer, '413', `${size} bytes to the route of a skill`);
    assert.ok(grown <= MOST_BYTES.skill, `${size} bytes to the route of a skill: ${grown} bytes are in use`);
  }
});

test('a request with a Content-Length above the limit gets 413 before its body is read', async () => {
  const { answer, grown } = await sendBody(provider, 0, { 'content-length': String(25 * MEBIBYTE + 1) });
  assert.is(answer, '413');
  assert.ok(grown < MEBIBYTE, `${grown} bytes are in use`);
});

afterLastTest(async () => {
  await server.close();
  await p.close();
});

test.run();
