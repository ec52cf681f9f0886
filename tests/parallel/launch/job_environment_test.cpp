// Tests the settings that init_process_group reads from the environment variables of torchrun, Open MPI 4.1, MPICH 4.0
// and Slurm 22.05, which are written down here. by_launcher.sh and slurm_test.sh test the real launchers.
#include "tandem/parallel/collectives/job_environment.h"

#include <atomic>
#include <map>

#include "tandem/tests/catch.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using namespace tandem::distributed;

namespace {

using Environment = std::map<std::string, std::string>;
Variables of(const Environment& environment) {
  return [environment](const char* name) {
    const auto at = environment.find(name);
    return at == environment.end() ? std::string() : at->second;
  };
}
JobEnvironment read(const Environment& environment, const InitOptions& options = {},
                    const std::string& control_port = "") {
  return read_job_environment(options, of(environment), [&] { return control_port; });
}
Environment operator+(Environment a, const Environment& b) {
  for (const auto& [name, value] : b) a[name] = value;
  return a;
}
const Environment kByHand = {
    {"RANK", "1"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "0"}, {"MASTER_ADDR", "here"}, {"MASTER_PORT", "1234"}};
const Environment kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "2"},       {"OMPI_COMM_WORLD_SIZE", "3"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"},
                              {"PMIX_NAMESPACE", "2874408961"},    {"PMIX_RANK", "2"}};
const Environment kPmi = {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
const Environment kAllocation = {
    {"SLURM_JOB_ID", "77"}, {"SLURM_NTASKS", "6"}, {"SLURM_JOB_NUM_NODES", "3"}, {"SLURM_JOB_NODELIST", "n[08-10]"}};
const Environment kStep =
    kAllocation +
    Environment{{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_NODELIST", "n[09-10]"},
                {"SLURM_PROCID", "3"},  {"SLURM_LOCALID", "1"},        {"SLURMD_NODENAME", "n10"},
                {"SLURM_GTIDS", "2,3"}};
/// Additional variables set by `srun --mpi=pmi2`
const Environment kPmi2 = {
    {"PMI_FD", "11"}, {"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"PMI_JOBID", "77.0"}, {"SLURM_MPI_TYPE", "pmi2"}};

}  // namespace

TEST_CASE("every launcher's ranks know that one started them", "[launch][environment]") {
  for (const Environment& environment : {kByHand, kOpenMpi, kPmi, kStep}) CHECK(is_launched(of(environment)));
  CHECK_FALSE(is_launched(of({})));
  CHECK_FALSE(is_launched(of({{"WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}})));
  CHECK_FALSE(is_launched(of(kAllocation)));                                       // a shell in an allocation
  CHECK_FALSE(is_launched(of(kAllocation + Environment{{"SLURM_PROCID", "0"}})));  // a batch script
  CHECK(is_launched(of(kAllocation + kOpenMpi)));
}

TEST_CASE("a rank knows which of its machine's ranks it is", "[launch][environment]") {
  CHECK_THROWS_WITH(get_node_local_rank(), Contains("get_node_local_rank") && Contains("LOCAL_RANK"));
  CHECK(get_node_local_rank(3) == 3);
  std::atomic<int> wrong{0};
  run_ranks(2, [&](int rank) { wrong += get_node_local_rank() == rank ? 0 : 1; });
  CHECK(wrong == 0);
}

TEST_CASE("each launcher's environment says rank, size, and where the store is", "[launch][environment]") {
  const JobEnvironment hand = read(kByHand);
  CHECK((hand.rank == 1 && hand.size == 4 && hand.address == "here" && hand.port == 1234));
  CHECK(hand.token.empty());
  const JobEnvironment mpi = read(kOpenMpi);
  CHECK((mpi.launcher == "Open MPI" && mpi.rank == 2 && mpi.size == 3 && mpi.address == "127.0.0.1"));
  CHECK((mpi.port >= 10000 && mpi.port < 30000));
  CHECK(mpi.token == "Open MPI 2874408961");
  CHECK(read(kOpenMpi + Environment{{"PMIX_NAMESPACE", "2874408962"}}).port != mpi.port);
  const JobEnvironment pmi = read(kPmi);
  CHECK((pmi.launcher == "PMI" && pmi.rank == 1 && pmi.size == 2 && pmi.address == "127.0.0.1" && pmi.port == 29500));
  CHECK(pmi.token.empty());
  const JobEnvironment slurm = read(kStep);
  CHECK((slurm.launcher == "Slurm" && slurm.rank == 3 && slurm.size == 4 && slurm.address == "n09"));
  CHECK(slurm.token == "Slurm 77.0");
  CHECK_THAT(slurm.sources, Contains("SLURM_PROCID and SLURM_STEP_NUM_TASKS; address: SLURM_STEP_NODELIST"));
  CHECK(read(kStep + Environment{{"SLURM_STEP_ID", "1"}}).port != slurm.port);
  CHECK(read(kStep + Environment{{"SLURM_STEP_NODELIST", "n09"}}).address == "127.0.0.1");
  CHECK(*read_local_rank(of(kByHand)) == 0);
  CHECK(*read_local_rank(of(kOpenMpi)) == 1);
  CHECK(*read_local_rank(of(kPmi)) == 1);
  CHECK(*read_local_rank(of(kStep)) == 1);
  CHECK(!read_local_rank(of({})));
}

TEST_CASE("of several launchers the innermost counts, and what is given counts before all", "[launch][environment]") {
  CHECK(read(kStep + kOpenMpi + kPmi + kByHand).launcher == "the environment");
  CHECK(read(kStep + kOpenMpi + kPmi).launcher == "Open MPI");
  CHECK(read(kStep + kPmi).launcher == "PMI");
  // The helpers of mpirun run in a Slurm step, which may cover only some of the job's nodes.
  const Environment apart = {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}};
  CHECK(read(kStep + kOpenMpi + apart).address == "n08");
  CHECK(read(kOpenMpi + apart + Environment{{"MASTER_ADDR", "first"}}).address == "first");
  CHECK(read(kStep + Environment{{"MASTER_PORT", "99"}}).port == 99);
  InitOptions options;
  options.rank = 0, options.world_size = 2, options.master_addr = "given", options.master_port = 7;
  const JobEnvironment given = read(kStep + kByHand, options);
  CHECK((given.rank == 0 && given.size == 2 && given.address == "given" && given.port == 7));
  CHECK(given.sources == "InitOptions; address: InitOptions; port: InitOptions");
}

TEST_CASE("RANK alone is no launcher: the one that gives rank and size counts", "[launch][environment]") {
  const Environment rank_alone = {{"RANK", "1"}, {"LOCAL_RANK", "7"}};
  for (const Environment& whole : {kOpenMpi, kPmi, kStep}) {
    const JobEnvironment with = read(whole + rank_alone), without = read(whole);
    CHECK((with.launcher == without.launcher && with.rank == without.rank && with.size == without.size));
    CHECK(read_local_rank(of(whole + rank_alone)) == read_local_rank(of(whole)));
  }
  CHECK(read(kStep + Environment{{"OMPI_COMM_WORLD_RANK", "0"}, {"PMI_RANK", "0"}}).launcher == "Slurm");
  CHECK_THROWS_WITH(read(kAllocation + rank_alone), Contains("environment variable WORLD_SIZE expected, but not set"));
  CHECK_THROWS_WITH(read(kAllocation + rank_alone + Environment{{"SLURM_PROCID", "0"}}),
                    Contains("a batch script runs once"));
  InitOptions options;
  options.world_size = 2;  // with this, only RANK is missing
  const Environment place = {{"MASTER_ADDR", "here"}, {"MASTER_PORT", "1"}};
  CHECK(read(kStep + rank_alone + place, options).launcher == "the environment");
}

TEST_CASE("the rank on the machine comes from whichever launcher counts the same ranks", "[launch][environment]") {
  Environment script = kStep + kByHand + Environment{{"RANK", "3"}};
  script.erase("LOCAL_RANK");
  CHECK(*read_local_rank(of(script)) == 1);  // a script with export RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS
  CHECK(!read_local_rank(of(script + Environment{{"RANK", "2"}})));
  CHECK(!read_local_rank(of(script + Environment{{"WORLD_SIZE", "8"}})));
  CHECK(*read_local_rank(of(script + Environment{{"LOCAL_RANK", "0"}})) == 0);
}

TEST_CASE("the tasks of srun --mpi=pmi2 are Slurm's: address, port and local rank are the step's",
          "[launch][environment]") {
  const JobEnvironment plain = read(kStep), pmi2 = read(kStep + kPmi2);
  CHECK(pmi2.launcher == "Slurm");
  CHECK((pmi2.rank == 3 && pmi2.size == 4 && pmi2.address == "n09"));
  CHECK((pmi2.port == plain.port && pmi2.token == plain.token && pmi2.sources == plain.sources));
  CHECK(*read_local_rank(of(kStep + kPmi2)) == 1);
  const JobEnvironment next = read(kStep + kPmi2 + Environment{{"SLURM_STEP_ID", "1"}, {"PMI_JOBID", "77.1"}});
  CHECK((next.port != pmi2.port && next.token != pmi2.token));
  // The ranks of an mpiexec within a Slurm step are not those of the step.
  CHECK(read(kStep + kPmi2 + kPmi).launcher == "PMI");
  CHECK(read(kStep + kPmi2 + Environment{{"PMI_JOBID", "78.0"}}).token == "PMI 78.0");
}

TEST_CASE("each job has a token of its own, where its launcher tells jobs apart", "[launch][environment]") {
  const JobEnvironment one = read(kPmi, {}, "n1:3001"), other = read(kPmi, {}, "n1:3002");
  CHECK((one.token == "PMI n1:3001" && one.port >= 10000 && one.port < 30000));
  CHECK_THAT(one.sources, Contains("port: from the control port of mpiexec"));
  CHECK((other.token != one.token && other.port != one.port));
  // Inside an allocation too, the token comes from mpiexec's control port.
  CHECK(read(kAllocation + kPmi, {}, "n1:3001").token == one.token);
  CHECK(read(kAllocation + kPmi).token == "PMI 77");
  Environment old = kOpenMpi + Environment{{"OMPI_MCA_ess_base_jobid", "77"}};
  old.erase("PMIX_NAMESPACE");
  CHECK(read(old).token == "Open MPI 77");
  CHECK(read(kByHand + Environment{{"TORCHELASTIC_RUN_ID", "x"}}).token == "the environment x");
  for (const Environment& each : {kStep, kOpenMpi, kByHand})
    CHECK(read(each + Environment{{"TANDEM_JOB_TOKEN", "mine"}, {"TORCHELASTIC_RUN_ID", "x"}}).token == "mine");
  InitOptions options;  // the program numbers its own ranks, perhaps over several steps
  options.rank = 0, options.world_size = 2;
  CHECK(read(kStep, options).token.empty());
}

TEST_CASE("torchrun's agent holds the store unless an address is given", "[launch][environment]") {
  const Environment torchrun =
      kByHand + Environment{{"TORCHELASTIC_RUN_ID", "x"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  CHECK((read(torchrun).has_agent_store && read(torchrun).launcher == "torchrun"));
  CHECK(!read(torchrun + Environment{{"TORCHELASTIC_USE_AGENT_STORE", "False"}}).has_agent_store);
  InitOptions options;
  options.master_port = 7;
  CHECK(!read(torchrun, options).has_agent_store);
  const JobEnvironment launched = read(torchrun + Environment{{"TANDEM_STORE", "launcher"}, {"TANDEM_JOB_TOKEN", "t"}});
  CHECK((launched.has_launcher_store && !launched.has_agent_store && launched.token == "t"));
  CHECK(launched.launcher == "tandem launch");
}

TEST_CASE("a shell in an allocation of Slurm is told so, and waits for nobody", "[launch][environment][errors]") {
  CHECK_THROWS_WITH(read(kAllocation),
                    Contains("Slurm's allocation 77 of 6 tasks") && Contains("start the ranks by `srun PROGRAM`"));
  const Environment batch = kAllocation + Environment{{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}};
  CHECK_THROWS_WITH(read(batch), Contains("of 6 tasks") && Contains("a batch script runs once"));
  Environment one = batch + Environment{{"SLURM_NTASKS", "1"}};
  CHECK(read(one).size == 1);
  one.erase("SLURM_NTASKS");
  CHECK_THROWS_WITH(read(one), Contains("of 3 tasks"));  // Slurm's default is one task per node
  one["SLURM_JOB_NUM_NODES"] = "1";
  CHECK(read(one).size == 1);
  // The shell that salloc starts on a node is a step with one task.
  const Environment shell =
      batch +
      Environment{{"SLURM_STEP_ID", "4294967290"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_STEP_NODELIST", "n08"}};
  CHECK_THROWS_WITH(read(shell), Contains("of 6 tasks") && Contains("a shell of salloc is one process"));
  CHECK(read(shell + Environment{{"SLURM_NTASKS", "1"}}).size == 1);
  CHECK(read(shell + kByHand).rank == 1);
  CHECK_THROWS_WITH(read(batch + Environment{{"SLURM_STEP_ID", "4294967291"}}), Contains("a batch script runs once"));
  CHECK(read(kAllocation + kByHand).rank == 1);  // torchrun in a shell
  InitOptions options;
  options.rank = 0, options.world_size = 1, options.master_addr = "given", options.master_port = 7;
  CHECK(read(kAllocation, options).size == 1);
}

TEST_CASE("rank 0 of a step of Slurm is on the first node of its list", "[launch][environment]") {
  const auto address = [](const char* list) {
    return read(kStep + Environment{{"SLURM_STEP_NODELIST", list}}).address;
  };
  CHECK(address("gpu-a[07-08]b,n[1-2]") == "gpu-a07b");
  CHECK(address("n[08-11]") == "n08");
  CHECK(address("n[08]") == "127.0.0.1");
  CHECK(address("rack[0]n[7]") == "127.0.0.1");
  CHECK(address("n08,n09") == "n08");
  CHECK_THROWS_WITH(address("n[08"), Contains("'n[08' is not a Slurm node list: a bracket is not closed"));
  // Older versions of Slurm set SLURM_NODELIST only.
  Environment old = kStep + Environment{{"SLURM_NODELIST", "m[1-2]"}};
  old.erase("SLURM_STEP_NODELIST"), old.erase("SLURM_JOB_NODELIST");
  CHECK(read(old).address == "m1");
  old.erase("SLURM_NODELIST");
  CHECK_THROWS_WITH(read(old),
                    Contains("Slurm has started 4 ranks, some of them on this machine") && Contains("set MASTER_ADDR"));
}

TEST_CASE("rank 0 is found where srun -m arbitrary has put it", "[launch][environment]") {
  const auto task = [](const char* node, const char* tasks, const char* nodes, const std::string& file = "") {
    return read(kStep + Environment{{"SLURM_DISTRIBUTION", "arbitrary"},
                                    {"SLURMD_NODENAME", node},
                                    {"SLURM_GTIDS", tasks},
                                    {"SLURM_STEP_NODELIST", nodes},
                                    {"SLURM_HOSTFILE", file}});
  };
  // With two nodes, each task can tell the node of rank 0.
  CHECK(task("n08", "1,10", "n[08-09]").address == "n09");
  CHECK(task("n09", "0,2,3", "n[08-09]").address == "n09");
  CHECK(task("n08", "0", "n[08-09]").address == "n08");
  CHECK(task("n09", "1,2,3", "n[08-09]").address == "n08");
  CHECK_THAT(task("n08", "1,2,3", "n[08-09]").sources, Contains("SLURM_STEP_NODELIST and SLURM_GTIDS"));
  CHECK(task("n08", "1,2,3", "n08").address == "127.0.0.1");
  // If a node's name is not in the list, or SLURM_GTIDS has another form, these variables are ignored.
  const Environment usual = {{"SLURM_GTIDS", "0-2"}, {"SLURMD_NODENAME", "n10"}};
  CHECK(read(kStep + usual).address == "n09");
  CHECK(read(kStep + Environment{{"SLURMD_NODENAME", "alias"}, {"SLURM_GTIDS", "0"}}).address == "n09");
  // With more nodes, the host file tells the node of rank 0.
  const test::TemporaryFolder folder;
  const auto file = [&](const std::string& text) {
    const std::string path = folder / "hosts";
    test::write_file(path, text);
    return path;
  };
  CHECK(task("n08", "1", "n[08-10]", file("# ours\n\nn10*2\nn08\nn09\n")).address == "n10");
  CHECK(task("n10", "0", "n[08-10]", file("n10 # the first\nn08\n")).address == "n10");
  for (const std::string& path : {std::string(), folder / "none", file("n11\n"), file("")})
    CHECK_THROWS_WITH(task("n08", "0", "n[08-10]", path),
                      Contains("on one of 3 nodes") && Contains("'" + path + "'") && Contains("set MASTER_ADDR"));
}

TEST_CASE("what an environment lacks or has wrong is named", "[launch][environment][errors]") {
  CHECK_THROWS_WITH(read({}), Contains("environment variable WORLD_SIZE expected, but not set; tandem launch sets it"));
  CHECK_THROWS_WITH(read({{"WORLD_SIZE", "2"}}), Contains("environment variable RANK expected, but not set"));
  CHECK_THROWS_WITH(read({{"WORLD_SIZE", "2"}, {"RANK", "0"}}),
                    Contains("environment variable MASTER_ADDR expected, but not set"));
  CHECK_THROWS_WITH(read({{"WORLD_SIZE", "2"}, {"RANK", "2"}}), Contains("RANK is 2; accepted: 0 to 1"));
  CHECK_THROWS_WITH(read(kOpenMpi + Environment{{"OMPI_COMM_WORLD_SIZE", "two"}}),
                    Contains("OMPI_COMM_WORLD_SIZE is 'two'; accepted: a whole number"));
  CHECK_THROWS_WITH(read(kOpenMpi + Environment{{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}}),
                    Contains("Open MPI has started 3 ranks, 1 of them on this machine") && Contains("set MASTER_ADDR"));
  CHECK_THROWS_WITH(read(kPmi + Environment{{"MPI_LOCALNRANKS", ""}}), Contains("set MASTER_ADDR"));
}

TEST_CASE("lists of Slurm's nodes are read", "[launch][environment]") {
  using Hosts = std::vector<std::string>;
  CHECK(expand_node_list("n1") == Hosts{"n1"});
  CHECK(expand_node_list("n1,m2") == Hosts{"n1", "m2"});
  CHECK(expand_node_list("n[08-10,12],login") == Hosts{"n08", "n09", "n10", "n12", "login"});
  CHECK(expand_node_list("n[1-2]-ib") == Hosts{"n1-ib", "n2-ib"});
  CHECK(expand_node_list("rack[0-1]n[7,9]") == Hosts{"rack0n7", "rack0n9", "rack1n7", "rack1n9"});
  CHECK(expand_node_list("n[099-101]") == Hosts{"n099", "n100", "n101"});
  CHECK(expand_node_list("a-b-[3]") == Hosts{"a-b-3"});
  CHECK(expand_node_list("node[01-03,07],gpu-a[1-2]b") ==
        Hosts{"node01", "node02", "node03", "node07", "gpu-a1b", "gpu-a2b"});
  CHECK(expand_node_list("n[8-11]") == Hosts{"n8", "n9", "n10", "n11"});
  CHECK(expand_node_list("n[098-102,5]-[1-2]", 3) == Hosts{"n098-1", "n098-2", "n099-1"});
  CHECK(expand_node_list("login.site-1.example.org") == Hosts{"login.site-1.example.org"});
  CHECK(expand_node_list("n[1-999999999]", 2) == Hosts{"n1", "n2"});
  for (const char* list :
       {"", "n[1", "n1]", "n[2-1]", "n[a]", "n[]", "a,,b", "n[1-]", "n[-1]", "n[1,]", "n[1-2-3]", "n[[1]]", "n1,"})
    CHECK_THROWS_WITH(expand_node_list(list), Contains("is not a Slurm node list"));
}
