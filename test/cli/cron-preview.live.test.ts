import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { omit } from '../../domain/omit.ts';
import { draftOf, type PreviewArguments, previewCronJob } from '../../infra/cli/preview-cron-job.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const server = createServer(async (request, response) => {
  const headers = omit(request.headers as Record<string, string>, 'accept-encoding');
  const body = request.method === 'GET' ? {} : { body: await buffer(request) };
  const answer = await p.app.request(request.url!, { method: request.method!, headers, ...body });
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' }).end(await answer.text());
}).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const agent = ((await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Reporter', slug: 'reporter' } })).body as Json).id;

/** Runs the preview command. @returns its exit code and the lines that it prints */
const preview = async (args: Partial<PreviewArguments>, { json = false, key = p.key } = {}) => {
  const lines: string[] = [];
  const { log, error } = console;
  console.log = console.error = (line: string) => void lines.push(...line.split('\n'));
  try {
    const target = draftOf({ agent: 'reporter', count: '20', ...args });
    return { code: await previewCronJob(target, { url, key, json }), lines };
  } finally {
    Object.assign(console, { log, error });
  }
};

test('annals cron preview prints the occurrences of a draft with their local times, and for a suppressed occurrence also the reason and the blackout', async () => {
  const shown = JSON.parse((await preview({ cron: '0 9 * * *', zone: 'Europe/Berlin' }, { json: true })).lines[0]!) as Json[];
  const [first, second] = shown.map(({ due_at }) => String(due_at)) as [string, string];
  const local = (instant: string) => Temporal.Instant.from(instant).toZonedDateTimeISO('Europe/Berlin');
  const day = local(second).toPlainDate().toString();
  const body = { name: 'Day off', start_date: day, end_date: day, timezone: 'Europe/Berlin' };
  const { id } = (await p.send('POST', `${p.tenant}/cron-blackouts`, { body })).body as Json;
  const { code, lines } = await preview({ cron: '0 9 * * *', zone: 'Europe/Berlin', count: '2' });
  const weekday = (instant: string) => local(instant).toLocaleString('en', { weekday: 'short' });
  assert.equal(
    [code, lines],
    [
      0,
      [
        `${first}  ${weekday(first)} ${local(first).toPlainDate()} 09:00:00 Europe/Berlin  fires`,
        `${second}  ${weekday(second)} ${day} 09:00:00 Europe/Berlin  suppressed (blackout ${id})`,
      ],
    ],
  );
  await p.send('DELETE', `${p.tenant}/cron-blackouts/${id}`);
});

test('annals cron preview accepts a draft with an interval, a daily time or a single time, or the id of an existing job', async () => {
  assert.is((await preview({ every: '90', count: '3' })).lines.length, 3);
  assert.match((await preview({ daily: '07:30', count: '1' })).lines[0]!, / 07:30:00 UTC {2}fires$/);
  assert.equal((await preview({ at: '2126-03-14T09:26:53Z' })).lines, ['2126-03-14T09:26:53.000Z  Thu 2126-03-14 09:26:53 UTC  fires']);
  const job = {
    name: 'J',
    kind: 'recurring',
    target_kind: 'internal_agent',
    target: 'reporter',
    cron_expr: '15 6 * * 1',
    timezone: 'Asia/Tokyo',
  };
  const { id } = (await p.send('POST', `${p.tenant}/agents/${agent}/cron-jobs`, { body: job })).body as Json;
  const { code, lines } = await preview({ job: String(id), count: '1' });
  assert.is(code, 0);
  assert.match(lines[0]!, / {2}Mon \d{4}-\d\d-\d\d 06:15:00 Asia\/Tokyo {2}fires$/);
  await p.send('POST', `${p.tenant}/agents/${agent}/cron-jobs/${id}/pause`);
  assert.equal((await preview({ job: String(id) })).lines, ['The job is paused, so it is not due']);
});

test('annals cron preview with wrong arguments prints a usage error', async () => {
  const wrong: Partial<PreviewArguments>[] = [
    ...[{ agent: undefined, cron: '* * * * *' }, {}, { cron: '* * * * *', daily: '09:00' }, { every: 'x' }, { zone: 'UTC' }],
    ...[
      { cron: '* * * * *', zone: 'Mars/Phobos' },
      { cron: '* * * * *', count: '21' },
      { cron: '* * * * *', count: '0' },
    ],
    ...[{ job: 'x' }, { job: `c${'0'.repeat(24)}`, cron: '* * * * *' }],
  ];
  for (const args of wrong)
    await preview(args).then(
      () => assert.unreachable(JSON.stringify(args)),
      ({ name }: Error) => assert.is(name, 'CLIError', JSON.stringify(args)),
    );
});

test('if annals cron preview fails, it prints one line with the reason and exits with 1; for a time in the past, it exits with 0', async () => {
  for (const [args, options, reason] of [
    [{ cron: '61 * * * *' }, {}, /cron_expr: must be a cron expression/],
    [{ at: '2001-01-01T00:00:00Z' }, {}, /It is not due any more/],
    [{ agent: 'nobody', cron: '* * * * *' }, {}, /there is no agent nobody/],
    [{ job: `c${'0'.repeat(24)}` }, {}, /no such|does not exist|not found/i],
    [{ cron: '* * * * *' }, { key: 'wrong' }, /ANNALS_KEY is refused/],
  ] as const) {
    const { code, lines } = await preview(args, options);
    assert.is(lines.length, 1, lines.join('\n'));
    assert.match(lines[0]!, reason);
    assert.is(code, /not due/.test(lines[0]!) ? 0 : 1);
    assert.ok(lines[0]!.split('must be').length <= 2, `the reason is printed once: ${lines[0]}`);
  }
  await new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  const { code, lines } = await preview({ cron: '* * * * *' });
  assert.equal([code, /does not answer/.test(lines[0]!)], [1, true]);
});

test.after(p.close);
test.run();
