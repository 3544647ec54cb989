import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { seedConsole, startConsole } from '../fixtures/console-platform.ts';
import { addMember } from '../fixtures/users.ts';

const p = await startConsole();
const seeded = await seedConsole(p);
const people = {
  ADMIN: await addMember(p, 'ADMIN', p.tenant_id, 'walk-admin@example.com'),
  MEMBER: await addMember(p, 'MEMBER', p.tenant_id, 'walk-member@example.com'),
  VIEWER: await addMember(p, 'MEMBER', p.tenant_id, 'walk-viewer@example.com'),
  MANAGER: await addMember(p, 'MEMBER', p.tenant_id, 'walk-manager@example.com'),
  AUDITOR: await addMember(p, 'AUDITOR', p.tenant_id, 'walk-auditor@example.com'),
};
for (const role of ['VIEWER', 'MANAGER'] as const)
  await p.send('PUT', `${p.tenant}/agents/${seeded.agent}/roles/${people[role].user_id}`, { body: { role } });
await p.waitForProjections();

/**
 * The maximum number of pages of one kind that a walk opens: of those whose paths have no parameters, such as the pages of
 * agents, and of those that differ only in the values of parameters, such as the sorted pages of one list.
 */
const MAX_OF_KIND = { plain: 3, withParameters: 1 };

/** Returns the paths to which a page links, without those of the same page. */
const linksOf = (text: string): string[] =>
  [...text.matchAll(/href="(\/console[^"]*)"/g)]
    .map(([, href]) => href!.replaceAll('&amp;', '&').split('#')[0]!)
    .filter((href) => !href.startsWith('/console/assets/'));

/** Returns what the URLs of one kind of page have in common: the path without ids, and the names of its parameters. */
const kindOf = (href: string): string => {
  const { pathname, searchParams } = new URL(href, 'http://annals.test');
  return `${pathname.replaceAll(/c[0-9a-z]{24}|[0-9a-f-]{36}/g, ':id')}?${[...searchParams.keys()].sort()}`;
};

/**
 * Lists that have no past link to what exists now, also on a page that shows the past. The page of something that did not exist
 * then says so, and leads to the present.
 */
const saysNothingWasThere = (path: string, text: string): boolean =>
  path.includes('as_of=') && /Nothing is here at this time[\s\S]+Show the present/.test(text);

/** The paths that any walk has opened. */
const known = new Set<string>();

/**
 * Opens the pages that a visitor reaches by links, beginning at the overview. Of the links of a page, those come first that
 * no earlier walk has followed: so the walks together open several pages of each kind. Returns the paths, and their statuses.
 */
const walk = async (session: string): Promise<ReadonlyMap<string, number>> => {
  const opened = new Map<string, number>();
  const kinds = new Map<string, number>();
  const waiting = [p.base];
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const kind = kindOf(path);
    const before = kinds.get(kind) ?? 0;
    if (opened.has(path) || before >= (kind.endsWith('?') ? MAX_OF_KIND.plain : MAX_OF_KIND.withParameters)) continue;
    kinds.set(kind, before + 1);
    const { status, text } = await p.open(path, session);
    opened.set(path, saysNothingWasThere(path, text) ? 200 : status);
    known.add(path);
    waiting.push(...linksOf(text).sort((a, b) => Number(known.has(a)) - Number(known.has(b))));
  }
  return opened;
};

for (const [role, { key }] of Object.entries(people))
  test(`every page that a visitor with the role ${role} reaches by links opens, and no call of a page is refused`, async () => {
    const session = await p.signIn(key);
    const refused = p.eventsOf('AccessRefused').length;
    const opened = await walk(session);
    assert.equal(
      [...opened].filter(([, status]) => status !== 200 && status !== 303).map(([path, status]) => `${status} ${path}`),
      [],
    );
    assert.ok(opened.size > 20, `${opened.size} pages`);
    await p.recordPending();
    assert.equal(
      p
        .eventsOf('AccessRefused')
        .slice(refused)
        .map(({ data }) => data),
      [],
    );
  });

afterLastTest(() => p.close());

test.run();
