// share
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Agent from '../../domain/agents/agent.ts';
import { isRefName, linkRepo, NO_REPO, pinCodeRef, RepoUrl, unknownRef } from '../../domain/agents/code-ref.ts';
import { editDistance, nearestNames } from '../../domain/agents/nearest-names.ts';
import type { Refusal } from '../../domain/refusal.ts';
import { openShare } from '../fixtures/share.ts';

const URL_A = 'https://git.example.com/a.git';
const agent: Agent.Agent = { ...Agent.initial, status: 'live' };
const linked: Agent.Agent = { ...agent, repo_url: URL_A, code_ref: 'trunk' };

const refused = (decide: () => unknown): string => {
  try {
    decide();
    return 'accepted';
  } catch (error) {
    const { code, extra } = error as Refusal;
    return `${code} ${extra.errors?.[0]?.code ?? ''}`.trim();
  }
};

/** Returns whether git accepts a text as the name of a branch or tag. */
const gitAccepts = (name: string): boolean => {
  try {
    execFileSync('git', ['check-ref-format', `refs/heads/${name}`], { stdio: 'ignore' });
    return !name.startsWith('-');
  } catch {
    return false;
  }
};

const share = openShare();

share.test('a ref name is valid if and only if git accepts it and it does not start with a hyphen', () => {
  const unit = fc.constantFrom(...'ab.-/@{~^:?*[\\ \u0007\u007fé😀', '.lock', '..', '//');
  fc.assert(
    fc.property(fc.string({ unit, minLength: 1, maxLength: 6 }), (name) => isRefName(name) === gitAccepts(name)),
    { ...share.runsOf(120), examples: [['a.lock/b'], ['@'], ['@{'], ['a@{b'], ['.a'], ['a.'], ['a/.b'], ['-'], ['a/-b']] },
  );
});

test('linking a repository or ref that differs from the present one emits one event; linking the present one emits none', () => {
  const to = { repo_url: URL_A, code_ref: 'main' };
  assert.equal(linkRepo(to)(agent), [{ type: 'AgentRepoLinked', data: to }]);
  assert.equal(linkRepo(to)(linked), [{ type: 'AgentRepoLinked', data: to }]);
  assert.equal(linkRepo({ ...to, code_ref: 'trunk' })(linked), []);
  assert.equal(linkRepo(NO_REPO)(linked), [{ type: 'AgentRepoLinked', data: { repo_url: null, code_ref: 'main' } }]);
  assert.equal(linkRepo(NO_REPO)(agent), []);
});

test("pinning a ref is refused if the agent's repository was changed after the ref was looked up", () => {
  assert.equal(pinCodeRef(URL_A, 'main')(linked), [{ type: 'AgentCodeRefPinned', data: { code_ref: 'main' } }]);
  assert.equal(pinCodeRef(URL_A, 'trunk')(linked), []);
  assert.is(
    refused(() => pinCodeRef('https://git.example.com/b.git', 'main')(linked)),
    'conflict repository_changed',
  );
  assert.is(
    refused(() => pinCodeRef(null, 'main')(linked)),
    'conflict repository_changed',
  );
  assert.is(
    refused(() => pinCodeRef(null, 'main')(agent)),
    'invalid no_repository',
  );
  assert.is(
    refused(() => pinCodeRef(URL_A, 'main')(agent)),
    'invalid no_repository',
  );
});

test('changing the repository or the ref of a deleted agent is refused', () => {
  const deleted: Agent.Agent = { ...linked, status: 'deleted' };
  assert.is(
    refused(() => linkRepo(NO_REPO)(deleted)),
    'not_found',
  );
  assert.is(
    refused(() => pinCodeRef(URL_A, 'main')(deleted)),
    'not_found',
  );
});

test('when a repository is linked, its URL is stored without trailing slashes, and with its host in lower case', () => {
  for (const text of [URL_A, `${URL_A}/`, `${URL_A}//`, 'https://GIT.example.com:443/a.git']) assert.is(RepoUrl.parse(text), URL_A);
});

test('the names most similar to a wanted name come first: those with the fewest different characters, then those that contain it', () => {
  const names = ['main', 'maintenance', 'release-1', 'release-2', 'feature/main-page', 'develop'];
  assert.equal(nearestNames('mian', names, 3), ['main']);
  assert.equal(nearestNames('main', ['Main', ...names], 3), ['Main', 'main', 'feature/main-page']);
  assert.equal(nearestNames('release-3', names, 3), ['release-1', 'release-2']);
  assert.equal(nearestNames('xyz', names, 3), []);
  assert.equal(unknownRef('mian', { branches: names, tags: ['main'], complete: true }).extra.members, { nearest: ['main'] });
});

test('the edit distance of two texts is symmetric, at most the length of the longer text, and zero only for equal texts', () =>
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 12 }),
      fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 12 }),
      fc.nat(6),
      (a, b, limit) => {
        const distance = editDistance(a, b, 12);
        const limited = editDistance(a, b, limit);
        return (
          distance === editDistance(b, a, 12) &&
          distance <= Math.max(a.length, b.length) &&
          (distance === 0) === (a === b) &&
          limited === (distance <= limit ? distance : Number.POSITIVE_INFINITY)
        );
      },
    ),
  ));

test('the names that are most similar to a given one are found among 2,000 long names in less than 600 ms of processor time', () => {
  const names = Array.from({ length: 2_000 }, (_, index) => `${'feature/a-long-name-'.repeat(6)}${index}`);
  const before = process.cpuUsage();
  nearestNames(`${'feature/a-long-nmae-'.repeat(6)}x`, names, 3);
  const { user, system } = process.cpuUsage(before);
  assert.ok((user + system) / 1_000 < 600, `${(user + system) / 1_000} ms`);
});

test.run();
