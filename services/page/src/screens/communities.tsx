/** Communities of entities on each level of the hierarchy, and the report of one. */

import { useState } from "preact/hooks";
import { address, getJson } from "../api/client";
import type { CommunityDetails, CommunitySummary, Report } from "../api/types";
import { readLevels, usefulLevel } from "../hierarchy";
import { useLoad } from "../load";
import { Busy, Button, Empty, ErrorNotice, Select, Tag, Title, noteNavigation } from "../parts/basics";
import { formatRoute } from "../router";
import { count, decimal, documentOf, plural } from "../text";

const SHOWN = 100;

export function CommunitiesScreen({ graph }: { graph: string }) {
  const levels = useLoad(`${graph} levels`, (abort) => readLevels(graph, abort));
  const [chosen, setChosen] = useState<number | null>(null);
  const [shown, setShown] = useState(SHOWN);
  const level = Math.min(chosen ?? usefulLevel(levels.data ?? []), Math.max(0, (levels.data?.length ?? 1) - 1));
  const communities = [...(levels.data?.[level] ?? [])].filter((each) => each.size > 1).sort((a, b) => b.size - a.size || a.community - b.community);
  const singles = (levels.data?.[level]?.length ?? 0) - communities.length;
  const options = (levels.data ?? []).map((each, index) => [String(index), levelName(index, levels.data?.length ?? 0, each.length)] as const);
  return (
    <>
      <Title text="Communities" lead="Groups of closely connected entities, with a report on each." />
      {levels.error ? <ErrorNotice error={levels.error} retry={levels.reload} /> : null}
      {levels.isLoading && !levels.data ? <Busy /> : null}
      {options.length ? (
        <div class="filters">
          <Select label="Level" value={String(level)} options={options} onChange={(value) => setChosen(Number(value))} />
        </div>
      ) : null}
      <ul class="communities">
        {communities.slice(0, shown).map((each) => (
          <CommunityRow key={each.community} graph={graph} community={each} />
        ))}
      </ul>
      {communities.length > shown ? <Button onClick={() => setShown(shown + SHOWN)}>Show more</Button> : null}
      {levels.data && !communities.length ? <Empty>No community of this level has more than one entity.</Empty> : null}
      {singles ? <p class="place">{plural(singles, "entity without a group", "entities without a group")} on this level.</p> : null}
    </>
  );
}

function levelName(level: number, levels: number, size: number): string {
  const note = level === 0 ? " (finest)" : level === levels - 1 ? " (coarsest)" : "";
  return `level ${level}${note}: ${count(size)}`;
}

function CommunityRow({ graph, community }: { graph: string; community: CommunitySummary }) {
  return (
    <li class="card">
      <a href={formatRoute(graph, "communities", String(community.community))} onClick={noteNavigation}>
        {community.title || `Community ${community.community}`}
      </a>
      <p class="place">
        {plural(community.size, "entity", "entities")}
        {community.rating ? ` · importance ${decimal(community.rating, 1)} of 10` : ""}
        {community.title ? "" : " · no report yet"}
      </p>
    </li>
  );
}

export function CommunityScreen({ graph, id }: { graph: string; id: string }) {
  const path = address(["v1", "graphs", graph, "communities", id]);
  const details = useLoad(path, (abort) => getJson<CommunityDetails>(path, abort));
  const community = details.data;
  const children = (community?.children ?? []).filter((each) => each.size > 1);
  return (
    <>
      <Title
        text={community?.report?.title || `Community ${id}`}
        lead={community ? `Level ${community.level} · ${plural(community.size, "entity", "entities")}` : ""}
      >
        {community?.parent ? (
          <a class="button" href={formatRoute(graph, "communities", String(community.parent))} onClick={noteNavigation}>
            Wider community
          </a>
        ) : null}
        {community?.members[0] ? (
          <a class="button" href={formatRoute(graph, "graph", community.members[0].id)} onClick={noteNavigation}>
            Show in the graph
          </a>
        ) : null}
      </Title>
      {details.error ? <ErrorNotice error={details.error} retry={details.reload} missing={missing(graph)} /> : null}
      {details.isLoading && !community ? <Busy /> : null}
      {community?.report ? <ReportView graph={graph} report={community.report} /> : null}
      {community && !community.report ? <Empty>No report has been written on this community.</Empty> : null}
      {children.length ? (
        <section aria-labelledby="parts">
          <h2 id="parts">Parts</h2>
          <ul class="communities">
            {children.map((each) => (
              <CommunityRow key={each.community} graph={graph} community={each} />
            ))}
          </ul>
        </section>
      ) : null}
      {community ? (
        <section aria-labelledby="members">
          <h2 id="members">
            Entities <Tag>{community.size}</Tag>
          </h2>
          <p class="chips">
            {community.members.map((member) => (
              <a key={member.id} class="chip" href={formatRoute(graph, "entities", member.id)} onClick={noteNavigation}>
                {member.name}
              </a>
            ))}
          </p>
        </section>
      ) : null}
    </>
  );
}

function ReportView({ graph, report }: { graph: string; report: Report }) {
  return (
    <section aria-label="Report">
      <p class="description">{report.summary}</p>
      <ul class="findings">
        {report.findings.map((finding, index) => (
          <li key={index}>
            <p>{finding.text}</p>
            <p class="chips">
              {[...new Set(finding.chunks.map(documentOf))].map((id) => (
                <a key={id} class="chip" href={formatRoute(graph, "documents", id, { quote: finding.text })} onClick={noteNavigation}>
                  {id}
                </a>
              ))}
            </p>
          </li>
        ))}
      </ul>
      <p class="meta">
        Importance {decimal(report.rating, 1)} of 10 · version {report.version} of the graph
      </p>
    </section>
  );
}

function missing(graph: string) {
  const text = "This community does not exist, or no longer: communities change with the documents.";
  return { text, href: formatRoute(graph, "communities"), label: "All communities" };
}
