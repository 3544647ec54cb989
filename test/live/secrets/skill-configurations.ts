import * as assert from 'uvu/assert';
import { findText } from '../../faults/secret-search.ts';
import { createDataset } from '../../faults/tenants.ts';
import type { SecretCase } from './secret-case.ts';

/** A recognisable text that is part of every configuration value in this test. */
const CANARY = 'configCanaryThatNobodyMaySee';
const VALUES = 10;
const SCHEMA = { type: 'object', properties: { token: { type: 'string', pattern: '^[a-zA-Z0-9]+$' } }, required: ['token'] };
const SKILL = { name: 'Skill', slug: 'skill', description: 'A skill', visibility: 'public', instructions: 'Do it', config_schema: SCHEMA };

/** Sends values of a skill configuration, of which some are accepted and the others refused. */
export const skillConfigurations: SecretCase = {
  name: 'no file and no output of a platform contains a value of a skill configuration that was sent, whether it was accepted or refused',
  act: async (platform) => {
    const { agents } = await createDataset(platform, { tenants: 1, agents: 1, hooks: 0 });
    const { tenant, id } = agents[0]!;
    const call = (method: string, path: string, body?: object) =>
      platform.call(method, `/tenant/${tenant.id}${path}`, body, { key: tenant.key });
    const skill = JSON.parse((await call('POST', '/skills', SKILL)).text) as { id: string };
    assert.is((await call('POST', `/agents/${id}/skills`, { skill_id: skill.id })).status, 201);
    const config = `/agents/${id}/skills/${skill.id}/config`;
    for (let n = 0; n < VALUES; n++) {
      assert.is((await call('PATCH', config, { config: { token: `${CANARY}${n}` } })).status, 200);
      const refused = await call('PATCH', config, { config: { token: `${CANARY}${n} with spaces`, more: CANARY } });
      assert.equal([refused.status, refused.text.includes(CANARY)], [422, false]);
    }
    const read = await call('GET', config);
    assert.equal((JSON.parse(read.text) as { config: object }).config, { token: `${CANARY}${VALUES - 1}` });
    return ({ own, printed }) => {
      assert.match(findText(skill.id, own).join('\n'), /\/store\/.*plain/, 'the search finds what is in the log');
      assert.equal(findText(CANARY, own), []);
      assert.not.ok(printed.includes(CANARY));
    };
  },
};
