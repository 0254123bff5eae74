// What a drawn part still needs from the reader's side: their own time zone, and prose.

import { say } from "./words.js";
import { markdown } from "./markdown.js";
import { prose } from "./prose.js";

const MINUTE = 60_000;
const DAY = 86_400_000;
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
const hour = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hour12: false });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });

/** A moment in the reader's own time: the hour for today, else the date. */
export function when(moment, now = new Date()) {
  if (moment.toDateString() === now.toDateString()) {
    if (Math.abs(now - moment) >= MINUTE) return clock.format(moment);
    return moment > now ? say("soon") : say("just-now");
  }
  return Math.abs(now - moment) < 2 * DAY ? `${day.format(moment)}, ${clock.format(moment)}` : day.format(moment);
}

export function onDay(moment) {
  return day.format(moment);
}

function shown(kind, moment) {
  if (kind === "hour") return hour.format(moment);
  return kind === "day" ? onDay(moment) : when(moment);
}

/** Dress everything below a node. */
export function dress(node) {
  for (const time of node.querySelectorAll("time[data-when]")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    time.title = moment.toLocaleString();
    time.textContent = shown(time.dataset.when, moment);
  }
  for (const text of node.querySelectorAll("[data-prose]")) {
    prose(text, text.textContent);
    delete text.dataset.prose;
  }
  for (const text of node.querySelectorAll("[data-markdown]")) {
    markdown(text, text.textContent);
    delete text.dataset.markdown;
  }
}

/** The mark's shadow stands where the sun would put it: a sundial that tells the hour. */
export function turnShadow(now = new Date()) {
  const hours = Math.min(18, Math.max(6, now.getHours() + now.getMinutes() / 60));
  for (const shadow of document.querySelectorAll("[data-shadow]")) {
    shadow.setAttribute("transform", `rotate(${(hours - 12) * 13} 20 22)`);
  }
}
