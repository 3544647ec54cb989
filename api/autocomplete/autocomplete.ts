import { z } from 'zod';
import { seesAllSkills } from '../../commands/skills/agent-skills.ts';
import { integer } from '../../domain/fields.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { agents } from '../../projections/agents/agent.ts';
import {
  findMentions,
  MENTION_TYPES,
  type Mention,
  type MentionFilter,
  type MentionType,
} from '../../projections/autocomplete/mention.queries.ts';
import { agentsWithReadableChats, visibleAgents } from '../agents/readable-agents.ts';
import { type Ctx, operation } from '../http/operation.ts';
import { Decimal } from '../http/paging.ts';

const AutocompleteItem = z
  .object({
    id: z.string().meta({ description: 'The id of the resource; the digest of a file', examples: ['czdoc9is0j8ht9lgmxg9edn58'] }),
    label: z.string().meta({ description: 'The name that people see', examples: ['Reviewer'] }),
    type: z.enum(MENTION_TYPES).meta({ description: 'The type of the resource' }),
    detail: z
      .string()
      .nullable()
      .meta({
        description:
          'The slug of an agent or skill, the e-mail address of a user, the name of a tool, the content type of a file, the status of a session',
        examples: ['reviewer'],
      }),
  })
  .meta({ id: 'AutocompleteItem' });
type Item = z.output<typeof AutocompleteItem>;

const TYPE = `(${MENTION_TYPES.join('|')})`;

const Query = z.strictObject({
  q: z.string().max(255).default('').meta({ description: 'The text that has been typed; without it, the first of each type are listed' }),
  types: z
    .string()
    .regex(new RegExp(`^${TYPE}(,${TYPE})*$`), `must be a list of these, separated by commas: ${MENTION_TYPES.join(', ')}`)
    .optional()
    .meta({ description: 'Only these types, separated by commas; default: all', examples: ['agent,user'] }),
  limit: Decimal(integer(1, 200).default(50)).meta({ description: 'How many items the response may have' }),
});

/** Returns the filter for the rows of a type that the caller may see. */
const filterFor = async (ctx: Ctx, type: MentionType): Promise<MentionFilter> => {
  const tenant_id = ctx.tenant;
  switch (type) {
    case 'agent':
      return { tenant_id, only: await visibleAgents(ctx) };
    case 'user':
      return { only: Object.keys((await ctx.load(Tenant, tenant_id)).state.members) };
    case 'skill':
      return { tenant_id, visibility: (await seesAllSkills(ctx)) ? undefined : 'public' };
    case 'tool':
      return { tenant_id };
    default:
      return { tenant_id, only: await agentsWithReadableChats(ctx) };
  }
};

/**
 * Returns the item for a matching row; an empty list if it has no text. A user without a name is shown by their e-mail
 * address.
 */
const itemOf = (type: MentionType, { id, label, detail }: Mention): Item[] => {
  const shown = label ?? (type === 'user' ? detail : null);
  return shown === null ? [] : [{ id, label: shown, type, detail }];
};

const NOWHERE = 3;

/**
 * Returns how well an item matches: 0 if its label starts with the text, 1 if one of its words does, 2 if the label
 * only contains the text.
 */
const rankOf = ({ label }: Item, text: string): number => {
  const at = label.toLowerCase().indexOf(text);
  if (at < 0) return NOWHERE;
  if (at === 0) return 0;
  return /[\p{L}\p{N}]/u.test(label[at - 1]!) ? 2 : 1;
};

/** Sorts items: better matches first, then shorter labels first. */
const ranked = (items: readonly Item[], q: string): Item[] => {
  const text = q.toLowerCase();
  return items
    .map((item) => ({ item, rank: rankOf(item, text) }))
    .sort(
      (one, other) =>
        one.rank - other.rank || one.item.label.length - other.item.label.length || (one.item.label < other.item.label ? -1 : 1),
    )
    .map(({ item }) => item);
};

/** Drops duplicate items. There can be some, because the same file can belong to several sessions. */
const withoutRepeats = (items: readonly Item[]): Item[] => [...new Map(items.map((item) => [`${item.type} ${item.id}`, item])).values()];

export const autocompleteOperations = {
  autocomplete: operation({
    method: 'get',
    path: '/tenant/:tenant_id/autocomplete',
    summary: 'Complete the name of what a text mentions',
    details:
      'Finds agents, users, skills, tools, files of sessions and sessions that the caller may see, the best matches first. Texts of less than three characters must be the start of a name.',
    permit: 'tenant:read',
    query: Query,
    reply: z.array(AutocompleteItem),
    projection: agents.name,
    run: async (ctx, { q, types, limit }) => {
      const wanted = types === undefined ? MENTION_TYPES : [...new Set(types.split(',') as MentionType[])];
      const find = async (type: MentionType): Promise<Item[]> => {
        const found = await findMentions(ctx.reads, type, q, await filterFor(ctx, type), limit);
        return found.flatMap((mention) => itemOf(type, mention));
      };
      const items = withoutRepeats((await Promise.all(wanted.map(find))).flat());
      return { body: JSON.stringify(ranked(items, q).slice(0, limit)), next: null };
    },
  }),
};
