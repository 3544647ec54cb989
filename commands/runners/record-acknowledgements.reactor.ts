import * as Acknowledgement from '../../domain/runners/acknowledgement.ts';

/** A broker's advisory about a message, and the agent that the message was for. */
export type AddressedAdvisory = { readonly tenant: string; readonly agent: string; readonly advisory: Acknowledgement.Advisory };

/** The acknowledgement stream of an agent: folded state and the revision of the last event (-1: no stream yet). */
export type AcknowledgementStream = { readonly state: Acknowledgement.Acknowledgements; readonly revision: number };

/** The acknowledgement streams of the log. */
export type AcknowledgementLog = {
  readonly load: (tenant: string, agent: string) => Promise<AcknowledgementStream>;
  /** Appends at that revision. Does nothing if another process appended first: the caller loads the stream again. */
  readonly append: (
    tenant: string,
    agent: string,
    revision: number,
    events: readonly Acknowledgement.AcknowledgementEvent[],
  ) => Promise<void>;
};

/**
 * Appends the advisories of one agent that its stream does not yet hold, in as many rounds as the size of an event
 * demands.
 */
const recordForAgent = async (log: AcknowledgementLog, epoch: string, group: readonly AddressedAdvisory[]): Promise<void> => {
  const { tenant, agent } = group[0]!;
  const decide = Acknowledgement.recordAdvisories(
    epoch,
    group.map(({ advisory }) => advisory),
  );
  for (;;) {
    const { state, revision } = await log.load(tenant, agent);
    const events = decide(state);
    if (events.length === 0) return;
    await log.append(tenant, agent, revision, events);
  }
};

/**
 * Records what runners acknowledged and what the broker gave up, per agent. The stream of an agent holds how far its
 * advisories are recorded, so a repetition after a crash, or a second process, records nothing twice. `epoch`
 * identifies the capture stream.
 */
export const recordAcknowledgements = async (
  log: AcknowledgementLog,
  epoch: string,
  advisories: readonly AddressedAdvisory[],
): Promise<void> => {
  const groups = Map.groupBy(advisories, ({ tenant, agent }) => `${tenant}.${agent}`);
  for (const group of groups.values()) await recordForAgent(log, epoch, group);
};
