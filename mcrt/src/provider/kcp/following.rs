//! One stream: which workspaces are seen through which addresses, and what follows.
use super::{
    Kcp, as_wide_as_needed_for,
    endpoint::{Endpoint, Seen},
    listing::News,
    source::Addresses,
};
use crate::{
    apis::kcp::{CLUSTER, PATH},
    cluster::{ClusterName, Properties, Property, PropertyOrigin},
    connect::{Access, Life, Policy, TransportSettings},
    provider::{Change, ClusterSpec, ProviderContext},
};
use futures::{StreamExt, future, stream::BoxStream};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, sleep_until};

/// How long a workspace that is no longer seen stays while an address has not told yet what is behind it: it may have
/// moved there.
const MOVE: Duration = Duration::from_secs(30);
/// How long it stays in any case: that it is gone at one address and there at another is told by two watches, and that
/// there is another address by a third.
const LINGER: Duration = Duration::from_secs(1);

pub(super) struct Following {
    kcp: Arc<Kcp>,
    host: Access,
    policy: Policy,
    transport: TransportSettings,
    addresses: BoxStream<'static, Addresses>,
    /// Whether the object that names the addresses was read.
    read: bool,
    endpoints: BTreeMap<String, Endpoint>,
    /// Named, but not to be used.
    unusable: BTreeSet<String>,
    /// The endpoint that is asked first next time.
    turn: usize,
    /// What was said last, by logical cluster.
    said: BTreeMap<Arc<str>, Said>,
    names: BTreeMap<ClusterName, Arc<str>>,
    /// No longer seen, and since when.
    leaving: BTreeMap<Arc<str>, Instant>,
    /// Whether a name has become free.
    freed: bool,
    pending: VecDeque<Change>,
    synced: bool,
    /// What was last said to be wrong, by what it is about.
    told: BTreeMap<String, String>,
    _life: Life,
}

struct Said {
    address: String,
    spec: ClusterSpec,
}

enum Event {
    Addresses(Option<Addresses>),
    Seen(String, Option<News<Seen>>),
    Due,
}

impl Following {
    pub(super) fn begin(kcp: Arc<Kcp>, cx: &ProviderContext) -> Result<Self, String> {
        let host = cx.host().ok_or("there is no host to read")?.clone();
        let home = kcp.home(&host);
        let home = home.map_err(|rejected| format!("the workspace of {}: {rejected}", kcp.of.object()))?;
        let life = Life::new();
        let client = home
            .client(cx.transport(), &life)
            .map_err(|error| format!("cannot build a client for the host: {error}"))?;
        let policy = kcp.policy.clone();
        Ok(Self {
            policy: policy.unwrap_or_else(|| as_wide_as_needed_for(&host)),
            addresses: kcp.of.addresses(client),
            kcp,
            host,
            transport: cx.transport().clone(),
            read: false,
            endpoints: BTreeMap::new(),
            freed: false,
            unusable: BTreeSet::new(),
            turn: 0,
            said: BTreeMap::new(),
            names: BTreeMap::new(),
            leaving: BTreeMap::new(),
            pending: VecDeque::new(),
            synced: false,
            told: BTreeMap::new(),
            _life: life,
        })
    }

    pub(super) async fn next(&mut self) -> Change {
        loop {
            if let Some(change) = self.pending.pop_front() {
                return change;
            }
            match self.event().await {
                Event::Addresses(addresses) => self.readdress(addresses),
                Event::Seen(address, news) => self.see(&address, news),
                Event::Due => self.settle_all(),
            }
            if !self.synced && self.all_is_known() {
                self.synced = true;
                self.pending.push_back(Change::Synced);
            }
        }
    }

    async fn event(&mut self) -> Event {
        let due = self.leaving.values().min().copied();
        let due = due.map(|since| since + self.stay());
        let Self {
            addresses,
            endpoints,
            turn,
            ..
        } = self;
        let due = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => future::pending().await,
            }
        };
        tokio::select! {
            named = addresses.next() => Event::Addresses(named),
            (address, news) = future::poll_fn(|cx| poll_any(endpoints, turn, cx)) => Event::Seen(address, news),
            () = due => Event::Due,
        }
    }

    /// Whether nothing that could be there is out of sight.
    fn all_is_known(&self) -> bool {
        self.read && self.unusable.is_empty() && self.endpoints.values().all(|endpoint| endpoint.synced)
    }

    /// How long a workspace stays that is no longer seen.
    fn stay(&self) -> Duration {
        if self.all_is_known() { LINGER } else { MOVE }
    }

    fn readdress(&mut self, named: Option<Addresses>) {
        let object = self.kcp.of.object();
        match named {
            Some(Addresses::These(addresses, broken)) => {
                self.read = true;
                match broken {
                    Some(why) => self.tell(&object, &why),
                    None => drop(self.told.remove(&object)),
                }
                self.open_and_close(&addresses);
            }
            Some(Addresses::NoObject) if self.read => {
                self.tell(
                    &object,
                    "it is gone, and so are its addresses: the workspaces leave",
                );
                self.open_and_close(&[]);
            }
            Some(Addresses::NoObject) => {
                self.tell(&object, "there is none in the workspace that the host leads to: name another, or another workspace");
            }
            Some(Addresses::Failed(code, reason)) => {
                let right = self.kcp.of.right();
                let reason = explained(code, &reason, right);
                self.tell(&object, &format!("{reason}; what was read before stays"));
            }
            // Watches go on for ever.
            None => self.tell(&object, "the watch has ended"),
        }
    }

    /// Has an endpoint for each of these addresses, and no other.
    fn open_and_close(&mut self, addresses: &[String]) {
        let named: BTreeSet<_> = addresses
            .iter()
            .map(|address| address.trim_end_matches('/').to_owned())
            .collect();
        self.endpoints.retain(|address, _| named.contains(address));
        self.unusable.retain(|address| named.contains(address));
        self.told
            .retain(|about, _| !about.starts_with("http") || named.contains(about));
        for address in named {
            if self.endpoints.contains_key(&address) {
                continue;
            }
            match self.open(&address) {
                Ok(endpoint) => {
                    self.unusable.remove(&address);
                    self.endpoints.insert(address, endpoint);
                }
                Err(reason) => {
                    self.unusable.insert(address.clone());
                    let of = self.kcp.of.object();
                    self.tell(&address, &format!("an address of {of}: {reason}"));
                }
            }
        }
        self.settle_all();
    }

    fn open(&self, address: &str) -> Result<Endpoint, String> {
        let at = |address: &str| {
            let access = self.host.at(address, &self.policy);
            access.map_err(|rejected| rejected.to_string())
        };
        let (access, all) = (at(address)?, at(&format!("{address}/clusters/*"))?);
        let mut initializers = Vec::new();
        if let super::Of::Initializer(name) = &self.kcp.of {
            // Said by path or by name: the address says it as the workspaces do.
            let last = address.rsplit('/').next().unwrap_or_default();
            initializers = vec![name.clone(), last.replace("%3A", ":").replace("%3a", ":")];
        }
        Endpoint::open(&self.kcp, access, &all, &self.transport, initializers)
    }

    fn see(&mut self, address: &str, news: Option<News<Seen>>) {
        let Some(endpoint) = self.endpoints.get_mut(address) else {
            return;
        };
        if let Some(News::Failed(code, reason)) = news {
            let was_failing = std::mem::replace(&mut endpoint.failing, true);
            let reason = explained(code, &reason, self.kcp.of.right_of_content());
            self.tell(address, &format!("{reason}; what was seen there before stays"));
            if !was_failing {
                self.settle_all();
            }
            return;
        }
        let recovered = std::mem::replace(&mut endpoint.failing, false);
        self.told.remove(address);
        let mut strays = Vec::new();
        let touched = match news {
            Some(News::All(all)) => {
                strays = endpoint.replace(all);
                endpoint.synced = true;
                None
            }
            Some(News::There(one)) => {
                let cluster = one.cluster.clone();
                strays.extend(endpoint.put(one));
                cluster
            }
            Some(News::Gone(one)) => {
                endpoint.drop_one(&one);
                one.cluster
            }
            _ => None,
        };
        if let Some(stray) = strays.first() {
            self.tell(
                &format!("{address} {stray}"),
                &format!("no annotation `{CLUSTER}`, which says which workspace it is in: is this an address of kcp?"),
            );
        }
        match touched {
            Some(cluster) if !recovered => {
                self.freed = false;
                self.settle(&cluster);
                if self.freed && self.kcp.by_path {
                    self.settle_all();
                }
            }
            _ => self.settle_all(),
        }
    }

    /// Twice where a name became free meanwhile, which another one may have waited for.
    fn settle_all(&mut self) {
        for _ in 0..2 {
            self.freed = false;
            let mut all: BTreeSet<_> = self.said.keys().cloned().collect();
            all.extend(self.endpoints.values().flat_map(Endpoint::clusters).cloned());
            for cluster in all {
                self.settle(&cluster);
            }
            if !(self.freed && self.kcp.by_path) {
                return;
            }
        }
    }

    /// Says what is to be said of one logical cluster.
    fn settle(&mut self, cluster: &Arc<str>) {
        let Some((address, seen)) = self.chosen(cluster) else {
            return self.let_go(cluster);
        };
        self.leaving.remove(cluster);
        let name = match self.named(cluster, seen.path.as_deref()) {
            Ok(name) => name,
            Err(reason) => return self.tell(cluster, &reason),
        };
        self.told.remove(&**cluster);
        let spec = self.spec(name, &address, cluster, &seen);
        match self.said.get_mut(cluster) {
            Some(said) if said.spec.says_the_same(&spec) => {
                said.address = address;
                return;
            }
            Some(said) if said.spec.name != spec.name => self.forget(cluster),
            _ => {}
        }
        self.names.insert(spec.name.clone(), Arc::clone(cluster));
        self.pending.push_back(Change::Upsert(spec.clone()));
        self.said.insert(Arc::clone(cluster), Said { address, spec });
    }

    /// Where a logical cluster is ready: where it was, unless another address that works has it too.
    fn chosen(&self, cluster: &str) -> Option<(String, Seen)> {
        let now = self.said.get(cluster).map(|said| said.address.as_str());
        let having = self.endpoints.iter();
        let having =
            having.filter_map(|(address, endpoint)| Some((address, endpoint, endpoint.ready(cluster)?)));
        let best =
            having.min_by_key(|(address, endpoint, _)| (endpoint.failing, Some(address.as_str()) != now));
        best.map(|(address, _, seen)| (address.clone(), seen.clone()))
    }

    /// No address has it: it leaves, soon if every address has told what is behind it.
    fn let_go(&mut self, cluster: &Arc<str>) {
        self.told.remove(&**cluster);
        if !self.said.contains_key(cluster) {
            return;
        }
        let now = Instant::now();
        let since = *self.leaving.entry(Arc::clone(cluster)).or_insert(now);
        if since + self.stay() <= now {
            self.forget(cluster);
        }
    }

    fn forget(&mut self, cluster: &Arc<str>) {
        self.leaving.remove(cluster);
        if let Some(said) = self.said.remove(cluster) {
            self.names.remove(&said.spec.name);
            self.pending.push_back(Change::Remove(said.spec.name));
            self.freed = true;
        }
    }

    fn named(&self, cluster: &Arc<str>, path: Option<&str>) -> Result<ClusterName, String> {
        let name = path.filter(|_| self.kcp.by_path).unwrap_or(cluster);
        let name =
            ClusterName::new(name).map_err(|error| format!("the workspace makes no cluster: {error}"))?;
        match self.names.get(&name).filter(|owner| *owner != cluster) {
            Some(owner) => Err(format!(
                "the workspace says that its path is `{name}`, as `{owner}` does, which has the name"
            )),
            None => Ok(name),
        }
    }

    fn spec(&self, name: ClusterName, address: &str, cluster: &Arc<str>, seen: &Seen) -> ClusterSpec {
        let mut properties = Properties {
            labels: seen.labels.clone(),
            ..Properties::default()
        };
        let named = [(CLUSTER, Some(cluster.to_string())), (PATH, seen.path.clone())];
        for (property, value) in named {
            let value = value.map(|value| Property {
                value,
                origin: PropertyOrigin::Provider,
            });
            properties
                .named
                .extend(value.map(|value| (property.to_owned(), value)));
        }
        let access = match self.endpoints.get(address) {
            Some(endpoint) => endpoint.server.member(Arc::clone(cluster)),
            // Chosen among these.
            None => self.host.clone(),
        };
        ClusterSpec::new(name, seen.uid.clone(), access).with_properties(properties)
    }

    /// Says what is wrong, once until it is something else.
    fn tell(&mut self, about: &str, reason: &str) {
        if self.told.get(about).is_none_or(|told| told != reason) {
            self.told.insert(about.to_owned(), reason.to_owned());
            self.pending
                .push_back(Change::Failed(format!("{about}: {reason}")));
        }
    }
}

/// Asks the endpoints in turn, so that a busy one does not silence the others.
fn poll_any(
    endpoints: &mut BTreeMap<String, Endpoint>,
    turn: &mut usize,
    cx: &mut Context<'_>,
) -> Poll<(String, Option<News<Seen>>)> {
    let count = endpoints.len();
    *turn = if count == 0 { 0 } else { (*turn + 1) % count };
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for (index, entry) in endpoints.iter_mut().enumerate() {
        if index < *turn {
            rest.push(entry);
        } else {
            first.push(entry);
        }
    }
    for (address, endpoint) in first.into_iter().chain(rest) {
        if let Poll::Ready(news) = endpoint.poll_next(cx) {
            return Poll::Ready((address.clone(), news));
        }
    }
    Poll::Pending
}

fn explained(code: Option<u16>, reason: &str, right: &str) -> String {
    match code {
        Some(401) => "not let in (401): the host's credentials do not count there".to_owned(),
        Some(403) => format!("not allowed: grant {right}"),
        Some(404) => "not served (404)".to_owned(),
        _ => reason.to_owned(),
    }
}
