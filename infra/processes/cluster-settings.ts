import { existsSync } from 'node:fs';
import { blobDirectoryOf } from '../blobs/blob-location.ts';
import { type Config, isLoopbackHost } from '../config.ts';
import { listenUrl } from '../listen-url.ts';

export type ClusterConfig = Pick<
  Config,
  'annalsData' | 'blobsUrl' | 'databaseUrl' | 'eventstoreUrl' | 'host' | 'isPublicUrlSet' | 'natsUrl' | 'port' | 'publicUrl'
>;

/** A variable whose value is right for one process or one machine only. */
export type ClusterProblem = {
  readonly variable: 'PUBLIC_URL' | 'BLOBS_URL' | 'NATS_URL';
  readonly message: string;
  readonly advice: string;
};

const ON_ALL = 'on every annals serve and annals work';

const publicUrlProblem = (config: ClusterConfig): ClusterProblem | null =>
  config.isPublicUrlSet
    ? null
    : {
        variable: 'PUBLIC_URL',
        message: `PUBLIC_URL is not set: this process takes ${listenUrl(config)}, and other processes take other URLs, so the URLs of webhooks and in messages to runners differ`,
        advice: `set PUBLIC_URL ${ON_ALL} to the URL at which clients reach the API`,
      };

const blobsProblem = ({ blobsUrl, annalsData }: ClusterConfig): ClusterProblem | null => {
  if (blobsUrl !== undefined) return null;
  const directory = blobDirectoryOf(annalsData);
  return {
    variable: 'BLOBS_URL',
    message: existsSync(directory)
      ? `BLOBS_URL is not set: files are stored in ${directory}, which other machines do not see`
      : 'BLOBS_URL is not set: requests that store or read files are refused',
    advice: `set BLOBS_URL ${ON_ALL} to a bucket or to a directory that all machines share`,
  };
};

const isOnThisMachine = (url: string): boolean => isLoopbackHost(new URL(url.trim()).hostname);

const natsProblem = ({ natsUrl = '', publicUrl }: ClusterConfig): ClusterProblem | null =>
  isOnThisMachine(publicUrl) || !natsUrl.split(',').some(isOnThisMachine)
    ? null
    : {
        variable: 'NATS_URL',
        message: 'NATS_URL names this machine: runners are told to connect to it, and on other machines they cannot',
        advice: `set NATS_URL ${ON_ALL} to hosts that runners can reach`,
      };

/**
 * Returns the settings that are wrong if several processes share the services. `annals start` sets all of them for its
 * own processes. While not all three services have a URL, there is no cluster and no problem.
 */
export const clusterProblems = (config: ClusterConfig): ClusterProblem[] => {
  if (!config.eventstoreUrl || !config.databaseUrl || !config.natsUrl) return [];
  return [publicUrlProblem(config), blobsProblem(config), natsProblem(config)].filter((problem) => problem !== null);
};
