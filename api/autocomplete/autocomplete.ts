import { z } from 'zod';
import { seesAllSkills } from '../../commands/skills/agent-skills.ts';
import { integer } from '../../domain/fields.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { agents } from '../../projections/agents/agent.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import {
  findMentions,
  MENTION_PROJECTIONS,
  MENTION_TYPES,
  type Mention,
  type MentionFilter,
  type MentionType,
} from '../../projections/autocomplete/mention.queries.ts';
import { deliveries } from '../../projections/deliveries/delivery.ts';
import { agentsWithReadableChats, hiddenAgents, visibleAgents } from '../agents/readable-agents.ts';
import { type Ctx, operation } from '../http/operation.ts';
import { Decimal } from '../http/paging.ts';
import { EXACT_TYPES, findById } from './exact-id.ts';

const TYPES = [...MENTION_TYPES, ...EXACT_TYPES] as const;
type ItemType = (typeof TYPES)[number];

const AutocompleteItem = z
  .object({
    id: z.string().meta({ description: 'The id of the resource; the digest of a file', examples: ['czdoc9is0j8ht9lgmxg9edn58'] }),
    label: z.string().meta({ description: 'The name that people see', examples: ['Reviewer'] }),
    type: z.enum(TYPES).meta({ description: 'The type of the resource' }),
    detail: z
      .string()
      .nullable()
      .meta({
        description:
          'The slug of an agent or skill, the e-mail address of a user, the name of a tool, the content type of a file, the status of a session or cron job, the provider of an integration, the outcome of a delivery, the time of an event',
        examples: ['reviewer'],
      }),
    agent_id: z
      .string()
      .optional()
      .meta({ description: 'The agent of a cron job; absent in other items', examples: ['czdoc9is0j8ht9lgmxg9edn58'] }),
  })
  .meta({ id: 'AutocompleteItem' });
type Item = z.output<typeof AutocompleteItem>;

const TYPE = `(${TYPES.join('|')})`;

const Query = z.strictObject({
  q: z.string().max(255).default('').meta({ description: 'The text that has been typed; without it, the first of each type are listed' }),
  types: z
    .string()
    .regex(new RegExp(`^${TYPE}(,${TYPE})*$`), `must be a list of these, separated by commas: ${TYPES.join(', ')}`)
    .optional()
    .meta({ description: 'Only these types, separated by commas; default: all', examples: ['agent,user'] }),
  limit: Decimal(integer(1, 200).default(50)).meta({ description: 'How many items the response may have' }),
});

/** Returns the types in a list that is separated by commas; all types if there is no list. */
const typesIn = (types: string | undefined): readonly ItemType[] =>
  types === undefined ? TYPES : [...new Set(types.split(',') as ItemType[])];

const PROJECTIONS: Readonly<Record<ItemType, readonly string[]>> = {
  ...MENTION_PROJECTIONS,
  delivery: [deliveries.name],
  event: [audit.name],
  request: [audit.name],
  position: [audit.name],
};

/** Returns the filter that selects the rows of this type that the caller may see. */
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
    case 'integration':
      return { tenant_id, only: (await hiddenAgents(ctx)).length > 0 ? await visibleAgents(ctx) : undefined };
    case 'cron_job':
      return { tenant_id, only: await visibleAgents(ctx) };
    case 'session':
      return { tenant_id, only: (await ctx.may('tenant:audit:read')) ? undefined : await agentsWithReadableChats(ctx) };
    default:
      return { tenant_id, only: await agentsWithReadableChats(ctx) };
  }
};

/**
 * Returns the item for a row that matches the search; an empty list if the row has no text to show. For a user without
 * a name, the text is the e-mail address.
 */
const itemOf = (type: MentionType, { id, label, detail, agent_id }: Mention): Item[] => {
  const shown = label ?? (type === 'user' ? detail : null);
  return shown === null ? [] : [{ id, label: shown, type, detail, ...(agent_id === undefined ? {} : { agent_id }) }];
};

const NOWHERE = 3;

/**
 * Returns the rank of an item; 0 is best. 0: its label starts with the text. 1: a word in the label starts with the
 * text. 2: the label contains the text elsewhere. NOWHERE: the label does not contain it.
 */
const rankOf = ({ label }: Item, text: string): number => {
  const at = label.toLowerCase().indexOf(text);
  if (at < 0) return NOWHERE;
  if (at === 0) return 0;
  return /[\p{L}\p{N}]/u.test(label[at - 1]!) ? 2 : 1;
};

/** Sorts items: the best matches first, and equally good ones by the length of their labels, shortest first. */
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

/** Removes duplicate items. A file that belongs to several sessions or messages is found several times. */
const withoutRepeats = (items: readonly Item[]): Item[] => [...new Map(items.map((item) => [`${item.type} ${item.id}`, item])).values()];

export const autocompleteOperations = {
  autocomplete: operation({
    method: 'get',
    path: '/tenant/:tenant_id/autocomplete',
    summary: 'Complete the name of what a text mentions',
    details:
      'Finds agents, users, skills, tools, files of sessions and of mail, sessions, integrations and cron jobs that the caller may see, the best matches first. A whole id finds its agent, session, integration, cron job, delivery or event, the id that a provider gave a delivery the newest such delivery, the id of a request its newest event, and a position of the log the event there. Texts of less than three characters must be the start of a name.',
    permit: 'tenant:read',
    query: Query,
    reply: z.array(AutocompleteItem),
    projection: agents.name,
    otherProjections: ({ types }) => [...new Set(typesIn(types).flatMap((type) => PROJECTIONS[type]))],
    run: async (ctx, { q, types, limit }) => {
      const wanted = typesIn(types);
      const searched = wanted.filter((type): type is MentionType => MENTION_TYPES.includes(type as MentionType));
      const find = async (type: MentionType): Promise<Item[]> => {
        const found = await findMentions(ctx.reads, type, q, { ...(await filterFor(ctx, type)), limit });
        return found.flatMap((mention) => itemOf(type, mention));
      };
      const items = withoutRepeats((await Promise.all(searched.map(find))).flat());
      const byId = await findById(ctx, q, wanted);
      return { body: JSON.stringify([...byId, ...ranked(items, q)].slice(0, limit)), next: null };
    },
  }),
};
