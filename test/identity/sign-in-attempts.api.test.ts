import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { signInAtIssuer } from '../fixtures/oidc-issuer.ts';
import { allowAccount, signInTest } from '../fixtures/sign-in-platform.ts';

const cookiePairs = (headers: Headers): string[] => headers.getSetCookie().map((cookie) => cookie.split(';')[0]!);

/** The cookies of a browser, in the order in which it has got them. */
const openJar = () => {
  const jar = new Map<string, string>();
  const header = (): string => [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
  const keep = ({ headers }: { headers: Headers }): void => {
    for (const pair of cookiePairs(headers)) {
      const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
      if (value === '') jar.delete(name);
      else jar.set(name, value);
    }
  };
  return { jar, header, keep };
};

signInTest('a browser that begins many sign-ins keeps the cookies of the newest ten, and can finish these', async (stage) => {
  const { p } = stage;
  await allowAccount(stage);
  const { jar, header, keep } = openJar();
  const begin = async (cookie: string) => {
    const answer = await p.send('GET', '/auth/login', { key: '', headers: cookie ? { cookie } : {} });
    keep(answer);
    return { location: answer.headers.get('location')!, own: cookiePairs(answer.headers).at(0)! };
  };
  const attempts = [];
  for (let n = 0; n < 15; n++) attempts.push(await begin(header()));
  // A browser that restores a session sends up to six requests at the same time.
  for (let n = 0; n < 5; n++) {
    const sent = header();
    attempts.push(...(await Promise.all(Array.from({ length: 6 }, () => begin(sent)))));
  }
  keep(await p.send('GET', '/console', { key: '', headers: { cookie: header() } }));
  assert.ok(jar.size <= 10, `${jar.size} cookies`);
  assert.ok(header().length < 5_000, `${header().length} bytes`);
  const kept = attempts.filter(({ own }) => jar.has(own.split('=')[0]!));
  // Requests that are sent at the same time can be answered in any order: of the last but one six, any four are kept.
  assert.equal([kept.length, kept.slice(-6)], [10, attempts.slice(-6)]);
  const before = attempts.slice(-12, -6);
  assert.ok(kept.slice(0, 4).every((one) => before.includes(one)));
  for (const { location } of [kept[0]!, kept[9]!]) {
    const answer = await p.send('GET', (await signInAtIssuer(location, 'somebody')).replace('http://annals.test', ''), {
      key: '',
      headers: { cookie: header() },
    });
    assert.is(answer.status, 303, answer.text);
  }
});

test.run();
