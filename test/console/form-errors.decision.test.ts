import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { errorList, type FieldErrors } from '../../api/console/forms/form-errors.ts';
import { htmlOf } from '../../api/console/parts/tags.ts';

const form = { path: [], query: [], body: null, layout: null };

/** The errors, the heading above them, and the fields to which they lead. */
const CASES: readonly (readonly [errors: FieldErrors, heading: string, links: readonly string[]])[] = [
  [[{ pointer: '/name', message: 'is required' }], 'One field needs a change', ['f-name']],
  [[{ pointer: '/path/agent_id', message: 'is required' }], 'One field needs a change', ['f--of-agent_id']],
  [[{ pointer: '', message: 'text may not contain the character U+0000' }], 'The form needs a change', []],
  [['/name', '', '/slug'].map((pointer) => ({ pointer, message: 'is wrong' })), 'The form needs a change', ['f-name', 'f-slug']],
];

for (const [errors, heading, links] of CASES)
  test(`errors at ${JSON.stringify(errors.map(({ pointer }) => pointer))} are listed, and lead only to fields that exist`, () => {
    const html = htmlOf(errorList({ problem: null, errors, form, path: '/console' }) as never, '/assets');
    assert.match(html, `>${heading}<`);
    for (const { message } of errors) assert.match(html, message);
    assert.equal(
      [...html.matchAll(/href="#([^"]*)"/g)].map(([, id]) => id),
      links,
    );
  });

test.run();
