import * as Delivery from '../../domain/deliveries/delivery.ts';
import * as Rejection from '../../domain/deliveries/rejection.ts';
import * as ReplayGuard from '../../domain/deliveries/replay-guard.ts';
import { PLATFORM, type Recorded } from '../../domain/event.ts';
import * as User from '../../domain/identity/user.ts';
import * as SkillRefusal from '../../domain/skill-calls/skill-refusal.ts';
import type { Derivation, Row, RowRef } from '../projection.ts';
import { changesOf, isAboutMember, keyUserOf, membershipId, newNameOf, subjectIdOf, subjectRef } from './audit-subject.ts';
import { summaryOf } from './audit-summary.ts';
import { type EventSubject, subjectsOf } from './event-subject.ts';

/**
 * The reader of an entry. A tenant sees the name of a user only if that user is or was one of its members, and the name
 * of any other resource only if it belongs to the tenant or to the platform.
 */
type Reader = 'tenant' | 'platform';
type Found = Readonly<Record<string, Row | null>>;

const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/**
 * Returns the id of the user that an event is about, in addition to its actor, such as a new member; null if there is
 * none.
 */
const personOf = ({ category, id, data }: Recorded): string | null => {
  if (category === User.category) return id;
  const { user_id, new_owner_id } = data as Row;
  return textOf(user_id) ?? textOf(new_owner_id);
};

/** Returns the id of the skill in an event about a skill of an agent; null if the event is not about a skill. */
const skillOf = ({ data }: Recorded): string | null => textOf((data as Row).skill_id);

/**
 * The categories of events whose actor is an integration or the webhook of a skill. Such an actor acts for unknown
 * callers, so its kind is `system`.
 */
const CATEGORIES_BY_WEBHOOK: readonly string[] = [Delivery.category, Rejection.category, ReplayGuard.category, SkillRefusal.category];

const hasNamedActor = ({ actor, category }: Recorded): boolean => actor.kind !== 'system' || CATEGORIES_BY_WEBHOOK.includes(category);

const isNamedElsewhere = (event: Recorded, { id }: EventSubject, agent_id: unknown): boolean =>
  [agent_id, personOf(event), skillOf(event)].includes(id);

/** Returns the rows with the names of those subjects that the other reads do not find. */
const subjectReads = (event: Recorded, subjects: readonly EventSubject[], agent_id: unknown, reader: Reader): Record<string, RowRef> =>
  Object.fromEntries(
    subjects
      .filter((subject) => !isNamedElsewhere(event, subject, agent_id))
      .flatMap(({ kind, id }) => [
        [`subject ${id}`, subjectRef(id)],
        ...(kind === 'user' && reader === 'tenant' ? [[`member ${id}`, subjectRef(membershipId(event.meta.tenant, id))]] : []),
      ]),
  );

const readsOf = (event: Recorded, agent_id: unknown, reader: Reader): Readonly<Record<string, RowRef>> => {
  const { actor, meta } = event;
  const reads: Record<string, RowRef> = { resource: subjectRef(subjectIdOf(event)) };
  if (hasNamedActor(event)) reads.actor = subjectRef(actor.id);
  const person = personOf(event);
  if (person) reads.person = subjectRef(person);
  if (reader === 'tenant' && actor.kind === 'user') reads.actorMember = subjectRef(membershipId(meta.tenant, actor.id));
  if (reader === 'tenant' && person) reads.personMember = subjectRef(membershipId(meta.tenant, person));
  if (typeof agent_id === 'string' && agent_id !== event.id) reads.agent = subjectRef(agent_id);
  const skill = skillOf(event);
  if (skill) reads.skill = subjectRef(skill);
  return reads;
};

const quoted = (name: string): string => `“${name}”`;

type Named = { readonly name: string | null; readonly email: string | null };
const NAMELESS: Named = { name: null, email: null };
const namesIn = (row: Row | null | undefined): Named => ({ name: textOf(row?.name), email: textOf(row?.email) });

const labelIn = (row: Row | null | undefined): string | null => {
  const { name, email } = namesIn(row);
  return name ?? email;
};

const userLabel = ({ name, email }: Named, id: string): string => {
  if (email) return name ? `${name} (${email})` : email;
  return name ?? `user ${id}`;
};

/**
 * Returns the name of the actor for the start of a sentence. If the actor is a part of the platform, the name is `The
 * platform`. If it is an integration or the webhook of a skill, which acts for unknown callers, its name is used.
 */
const actorLabel = ({ actor: { kind, id }, type }: Recorded, names: Named): string => {
  if (kind === 'user') return names.name || names.email ? userLabel(names, id) : `User ${id}`;
  if (kind === 'agent') return `Agent ${names.name ? quoted(names.name) : id}`;
  if (!names.name) return 'The platform';
  return `${type.startsWith('SkillWebhook') ? 'The webhook of the skill' : 'Integration'} ${quoted(names.name)}`;
};

const namesFor = (event: Recorded, reader: Reader, found: Found) => {
  const { actor, meta } = event;
  const isVisible = (row: Row | null | undefined): boolean => !!row && (row.of_tenant === null || row.of_tenant === meta.tenant);
  const person = personOf(event);
  const isMember = isAboutMember(event);
  const isAboutUser = isMember || event.category === User.category;
  const isPersonVisible = reader === 'platform' || isMember || !!found.personMember;
  const isActorVisible = reader === 'platform' || !!found.actorMember || (isMember && person === actor.id);
  const actorNames = (actor.kind === 'user' ? isActorVisible : isVisible(found.actor)) ? namesIn(found.actor) : NAMELESS;
  const personNames = person && isPersonVisible ? namesIn(found.person) : NAMELESS;
  const resourceNames = isVisible(found.resource) ? namesIn(found.resource) : NAMELESS;
  const { name, email } = isAboutUser ? personNames : resourceNames;
  return {
    actor: actorNames,
    person: person ? userLabel(personNames, person) : 'somebody',
    person_name: personNames.name ?? personNames.email,
    resource_name: textOf(newNameOf(event)) ?? name ?? email ?? textOf((event.data as Row).email),
    agent: isVisible(found.agent) ? namesIn(found.agent).name : null,
    skill: isVisible(found.skill) ? namesIn(found.skill).name : null,
  };
};

type Names = ReturnType<typeof namesFor>;

/** Returns the subjects of an event, with the names that the reader may see. */
const namedSubjects = (event: Recorded, subjects: readonly EventSubject[], reader: Reader, found: Found, names: Names) => {
  const nameOf = ({ kind, id }: EventSubject): string | null => {
    if (kind === 'agent' && !(`subject ${id}` in found)) return names.agent;
    if (id === personOf(event)) return names.person_name;
    if (id === skillOf(event)) return names.skill;
    const row = found[`subject ${id}`];
    if (kind === 'user') return reader === 'platform' || found[`member ${id}`] ? labelIn(row) : null;
    return row && (row.of_tenant === null || row.of_tenant === event.meta.tenant) ? labelIn(row) : null;
  };
  return subjects.map((subject) => ({ ...subject, name: nameOf(subject) }));
};

/**
 * Returns the part of an audit log entry that follows from earlier events: the names at the time of the event, what it
 * changed, and one sentence. `entry` is the part that follows from the event alone.
 */
export const namesOf = (event: Recorded, entry: Row, audience: Reader): Derivation => {
  const reader = event.meta.tenant === PLATFORM ? 'platform' : audience;
  const meta = entry.meta as Row;
  const subjects = subjectsOf(event, entry);
  const complete = (found: Found): Row => {
    const visible = namesFor(event, reader, found);
    const { actor, person, agent, skill } = visible;
    // An event of a stream without a name of its own can be about an agent.
    const resource_name = visible.resource_name ?? (entry.resource_id === entry.agent_id ? agent : null);
    const named = namedSubjects(event, subjects, reader, found, visible);
    const resource = resource_name ? quoted(resource_name) : event.id;
    const agentLabel = agent ? quoted(agent) : event.id === entry.agent_id ? resource : String(entry.agent_id ?? 'unknown');
    const names = {
      actor: actorLabel(event, actor),
      resource,
      person,
      agent: agentLabel,
      skill: skill ? quoted(skill) : (skillOf(event) ?? 'unknown'),
      subjects: new Map(named.flatMap(({ id, name }) => (name === null ? [] : [[id, quoted(name)] as const]))),
    };
    return {
      ...keyUserOf(event, found.resource ?? null),
      actor: { ...event.actor, key_id: event.actor.key_id ?? null, ...actor },
      resource_name,
      changes: changesOf(event, found.resource ?? null),
      subjects: named,
      summary: summaryOf(event, names, meta),
    };
  };
  return { reads: { ...readsOf(event, entry.agent_id, reader), ...subjectReads(event, subjects, entry.agent_id, reader) }, complete };
};
