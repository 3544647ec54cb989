import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Answer } from '../fixtures/test-platform.ts';
import type { Call, Document, Schema } from '../two-tenants/id-positions.ts';
import { schemaFaults } from '../two-tenants/schema-check.ts';

const agent = {
  type: 'object',
  required: ['id', 'at'],
  properties: { id: { type: 'string' }, at: { type: 'string', format: 'date-time' } },
} as unknown as Schema;
const document = { paths: {}, components: { schemas: { Agent: agent } } } as Document;
const schema = { type: 'array', items: { $ref: '#/components/schemas/Agent' } };
const call = { responses: { 200: { content: { 'application/json': { schema } } } } } as unknown as Call;
const faultsOf = (body: unknown): string[] => schemaFaults(document, call, { status: 200, body } as Answer);

test('the check of responses against the OpenAPI schemas reports wrong types and formats, missing fields, and fields that the schema does not name', () => {
  assert.equal(faultsOf([{ id: 'a', at: '2026-01-01T00:00:00.000Z' }]), []);
  assert.equal(faultsOf([{ id: 1, at: 'today', more: true }, {}]), [
    '/0/id must be string',
    '/0/at must match format "date-time"',
    "/1 must have required property 'id'",
    "/1 must have required property 'at'",
    '/0/more is undeclared',
  ]);
});

test.run();
