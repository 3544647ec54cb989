import { openLog } from '../eventstore/client.ts';
import { nodeUrls } from '../eventstore/store-url.ts';
import { fail, type Result, reasonOf } from './finding.ts';

type Cause = { readonly pattern: RegExp; readonly message: string; readonly advice: string };

/** The client's messages do not name the mistake in EVENTSTORE_URL. */
const CAUSES: readonly Cause[] = [
  {
    pattern: /File was not found|userCertFile/,
    message: 'a file with a certificate or a key does not exist',
    advice: 'correct tlsCAFile, userCertFile and userKeyFile in EVENTSTORE_URL',
  },
  {
    pattern: /TLS ServerName to an IP address/,
    message: 'TLS needs the host name of the node, not its IP address',
    advice: 'name the node in EVENTSTORE_URL as in its certificate or, if it runs without TLS, add ?tls=false',
  },
  {
    pattern: /wrong version number|packet length too long/,
    message: 'the node answers without TLS',
    advice: 'add ?tls=false to EVENTSTORE_URL, for trials only, or give the node a certificate',
  },
  {
    pattern: /ALTNAME_INVALID/,
    message: 'the certificate of the node is for another host name',
    advice: 'name the node in EVENTSTORE_URL as in its certificate',
  },
  {
    pattern: /certificate/,
    message: 'this machine does not trust the certificate of the node',
    advice: 'add tlsCAFile=<file with the certificate of the authority> to the options of EVENTSTORE_URL',
  },
  {
    pattern: /Last error: Failed to connect/,
    message: 'the node closes the connection',
    advice: 'if the node uses TLS, remove tls=false from EVENTSTORE_URL; otherwise correct its port',
  },
  {
    pattern: /Name resolution failed|ENOTFOUND|EAI_AGAIN/,
    message: 'the host name is unknown',
    advice: 'correct the host in EVENTSTORE_URL, or DNS',
  },
  {
    pattern: /UNAUTHENTICATED|authentication/i,
    message: 'the node refuses the user and password',
    advice: 'correct them in EVENTSTORE_URL: esdb://<user>:<password>@…',
  },
  {
    pattern: /PERMISSION_DENIED|access[- ]?denied/i,
    message: 'the node does not let the user read $all, the stream of all events',
    advice: 'name a user of the group $admins in EVENTSTORE_URL: esdb://<user>:<password>@…',
  },
  {
    pattern: /RESOURCE_EXHAUSTED|no space left|disk/i,
    message: 'the node lacks disk space or memory',
    advice: 'free disk space and memory for the event store, and read its log',
  },
];

type Reason = { readonly message: string; readonly advice: string | null };

const explain = (error: unknown): Reason => {
  const text = String((error as Error).message);
  return CAUSES.find(({ pattern }) => pattern.test(text)) ?? { message: reasonOf(error), advice: null };
};

/** Null if the error does not say why the store cannot be used. */
export const storeAdvice = (error: unknown): string | null => explain(error).advice;

/** Null if the node answers. */
const examineNode = async (url: string): Promise<Reason | null> => {
  const log = openLog(url);
  try {
    await log.ping();
    return null;
  } catch (error) {
    return explain(error);
  } finally {
    void log.close();
  }
};

const NO_LEADER: Reason = {
  message: 'answers, but names no node that is ready',
  advice: 'start enough nodes for a majority, and correct the addresses that the nodes advertise',
};

/**
 * Asks every host of a cluster, because the client reports only that it found no node. `downAdvice` is used if the reason needs no other.
 */
export const explainStoreFailure = async (url: string, error: unknown, downAdvice: string): Promise<Result> => {
  const nodes = await Promise.all(nodeUrls(url).map(async (node) => ({ host: node.host, reason: await examineNode(node.url) })));
  if (nodes.length === 0) {
    const { message, advice } = explain(error);
    return fail(message, advice ?? downAdvice);
  }
  const reasons = nodes.map(({ host, reason }) => ({ host, ...(reason ?? NO_LEADER) }));
  const advice = reasons.find((reason) => reason.advice !== null)?.advice ?? downAdvice;
  return fail(reasons.map(({ host, message }) => `${host}: ${message}`).join('; '), advice);
};
