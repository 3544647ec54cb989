import { z } from 'zod';
import {
  CustomRedactionPattern,
  CustomRedactionPatterns,
  RedactionTest,
  replaceRedactionPatterns,
  testRedactionPatterns,
} from '../../commands/redaction/redaction-patterns.ts';
import * as RedactionPatterns from '../../domain/redaction/redaction-patterns.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { operation } from '../http/operation.ts';
import { asOfQuery } from '../http/paging.ts';

const REDACTION_PATTERNS = '/tenant/:tenant_id/redaction-patterns';

const RedactionResult = z
  .object({
    text: z.string().meta({ description: 'The redacted text', examples: ['Order of [redacted:customer number]'] }),
    hits: z
      .array(
        z.object({
          tag: z.string().meta({ description: 'The tag of the patterns', examples: ['customer number'] }),
          count: z.int().meta({ description: 'How many matches were replaced', examples: [1] }),
        }),
      )
      .meta({ description: 'What was replaced, by tag' }),
  })
  .meta({ id: 'RedactionResult' });

const patternsOf = (loaded: { readonly state: RedactionPatterns.RedactionPatterns }) => loaded.state.patterns;

export const redactionOperations = {
  listRedactionPatterns: operation({
    method: 'get',
    path: REDACTION_PATTERNS,
    summary: 'List the redaction patterns',
    permit: 'tenant:read',
    reply: z.array(CustomRedactionPattern),
    aggregate: RedactionPatterns,
    query: asOfQuery,
    run: async (ctx) => {
      const loaded = await ctx.load(RedactionPatterns, ctx.tenant);
      const position = loaded.position ?? (await ctx.load(Tenant, ctx.tenant)).position;
      return { ...loaded, position, state: patternsOf(loaded) };
    },
  }),
  replaceRedactionPatterns: operation({
    method: 'put',
    path: REDACTION_PATTERNS,
    summary: 'Replace the redaction patterns',
    details:
      'They redact each later delivery, message of a session, report of a failed attempt and mail before it is stored. JSON stays valid JSON.',
    permit: 'tenant:settings:write',
    body: CustomRedactionPatterns,
    reply: z.array(CustomRedactionPattern),
    run: async (ctx, input) => {
      const loaded = await replaceRedactionPatterns(ctx, input);
      return { ...loaded, state: patternsOf(loaded) };
    },
  }),
  testRedactionPatterns: operation({
    method: 'post',
    path: `${REDACTION_PATTERNS}/test`,
    summary: 'Test redaction patterns on a text',
    details: 'Nothing is stored.',
    permit: 'tenant:settings:write',
    body: RedactionTest,
    reply: RedactionResult,
    readsOnly: true,
    noETag: true,
    run: testRedactionPatterns,
  }),
};
