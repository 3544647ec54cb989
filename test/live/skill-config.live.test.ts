import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withPlatform } from '../faults/platform.ts';
import { findText } from '../faults/secret-search.ts';
import { createDataset } from '../faults/tenants.ts';

/** A recognisable text that is part of every configuration value in this test. */
const CANARY = 'configCanaryThatNobodyMaySee';
const SCHEMA = { type: 'object', properties: { token: { type: 'string', pattern: '^[a-zA-Z0-9]+$' } }, required: ['token'] };
const SKILL = { name: 'Skill', slug: 'skill', description: 'A skill', visibility: 'public', instructions: 'Do it', config_schema: SCHEMA };

test('no file and no output of a running platform contains a value of a skill configuration that was sent, whether it was accepted or refused', () =>
  withPlatform(
    async (platform) => {
      const { agents } = await createDataset(platform, { tenants: 1, agents: 1, hooks: 0 });
      const { tenant, id } = agents[0]!;
      const call = (method: string, path: string, body?: object) =>
        platform.call(method, `/tenant/${tenant.id}${path}`, body, { key: tenant.key });
      const skill = JSON.parse((await call('POST', '/skills', SKILL)).text) as { id: string };
      assert.is((await call('POST', `/agents/${id}/skills`, { skill_id: skill.id })).status, 201);
      const config = `/agents/${id}/skills/${skill.id}/config`;
      for (let n = 0; n < 40; n++) {
        assert.is((await call('PATCH', config, { config: { token: `${CANARY}${n}` } })).status, 200);
        const refused = await call('PATCH', config, { config: { token: `${CANARY}${n} with spaces`, more: CANARY } });
        assert.equal([refused.status, refused.text.includes(CANARY)], [422, false]);
      }
      const read = await call('GET', config);
      assert.equal((JSON.parse(read.text) as { config: object }).config, { token: `${CANARY}39` });
      await platform.stop();
      assert.match(findText(skill.id, [platform.data]).join('\n'), /\/store\/.*plain/, 'the search finds what is in the log');
      assert.equal(findText(CANARY, [platform.data]), []);
      assert.not.ok(platform.output().includes(CANARY));
    },
    { LOG_LEVEL: 'trace' },
  ));

test.run();
